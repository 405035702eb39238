// Labels cover no marker, no label and no line where there is room for that; lines stop at labels.

#include "ui/kit/label_places.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <array>

namespace tilescope::ui {
namespace {

const QRectF kArea(0, 0, 200, 100);
const QSizeF kLabel(60, 12);

TEST(LabelPlaces, TakesTheNearestPlaceThatIsFree)
{
    LabelPlaces places(kArea);
    const QPointF point(100, 50);
    const auto wanted = places.around(point, kLabel, 5);
    std::vector<QRectF> labels;
    for (int i = 0; i < 6; ++i) {
        const auto place = places.place(wanted);
        ASSERT_TRUE(place);
        EXPECT_FALSE(place->isOnLine);
        EXPECT_TRUE(kArea.contains(place->rect));
        EXPECT_FALSE(place->rect.contains(point)) << "it would cover its own marker";
        for (const QRectF& other : labels)
            EXPECT_FALSE(other.intersects(place->rect));
        labels.push_back(place->rect);
    }
    EXPECT_EQ(labels.front(), wanted.front());
}

TEST(LabelPlaces, AvoidsLinesAndSaysWhereItCannot)
{
    const std::array wanted{QRectF(QPointF(100, 40), kLabel), QRectF(QPointF(100, 70), kLabel)};
    LabelPlaces places(kArea);
    places.avoid({QPointF(0, 0), QPointF(90, 46), QPointF(200, 46)});
    auto place = places.place(wanted);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->rect, wanted[1]) << "the line runs through the first";
    EXPECT_FALSE(place->isOnLine);
    place = places.place(wanted);
    ASSERT_TRUE(place) << "on a line is better than nowhere";
    EXPECT_EQ(place->rect, wanted[0]);
    EXPECT_TRUE(place->isOnLine);
    EXPECT_FALSE(places.place(wanted)) << "both are taken";
    const std::array outside{QRectF(QPointF(170, 20), kLabel)};
    EXPECT_FALSE(places.place(outside));
}

TEST(LabelPlaces, ALineStopsAtLabelsAndIsWholeElsewhere)
{
    QImage image(40, 100, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setPen(Qt::black);
    const std::array labels{QRectF(10, 40, 20, 10), QRectF(10, 45, 20, 15), QRectF(25, 80, 10, 10)};
    drawBehind(painter, 20, 0, 99, labels);
    painter.end();
    for (int y = 0; y < 100; ++y) {
        const bool isBehind = y > 40 && y < 60;
        if (y != 40 && y != 60) { // the ends of a line belong to it or not
            EXPECT_EQ(image.pixelColor(20, y) == QColor(Qt::white), isBehind) << y;
        }
    }
}

} // namespace
} // namespace tilescope::ui
