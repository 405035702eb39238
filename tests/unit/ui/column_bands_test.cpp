// Stretches of columns: every pixel of them is filled and none beside them, hatched or not.

#include "ui/timeline/column_bands.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <functional>

namespace tilescope::ui {
namespace {

const std::vector<ColumnBand> kBands{{2, 9}, {2, 9}, {5, 5}, {0, 12}, {7, 8}, {11, 30}};
constexpr int kLeft = 3;

QImage drawn(const std::function<void(QPainter&)>& draw, double ratio = 1)
{
    QImage image(int(12 * ratio), int(14 * ratio), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::white);
    QPainter painter(&image);
    draw(painter);
    return image;
}

bool isInside(int x, int y)
{
    const int column = x - kLeft;
    return column >= 0 && column < int(kBands.size()) && y >= kBands[std::size_t(column)].top &&
           y < kBands[std::size_t(column)].bottom;
}

TEST(ColumnBands, FillExactlyTheirPixels)
{
    const QImage image = drawn([](QPainter& painter) { fillBands(painter, kLeft, kBands, Qt::red); });
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            EXPECT_EQ(image.pixelColor(x, y), isInside(x, y) ? QColor(Qt::red) : QColor(Qt::white))
                << x << ' ' << y;
}

TEST(ColumnBands, HatchIsGroundAndLinesInsideOnly)
{
    const QImage image =
        drawn([](QPainter& painter) { hatchBands(painter, kLeft, kBands, Qt::black, QColor(Qt::yellow)); });
    int lines = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QColor pixel = image.pixelColor(x, y);
            EXPECT_EQ(pixel == QColor(Qt::white), !isInside(x, y)) << x << ' ' << y;
            lines += pixel == QColor(Qt::black);
            if (pixel == QColor(Qt::black)) {
                EXPECT_EQ((x + y) % 6, 0) << "lines run on from column to column";
            }
        }
    EXPECT_GT(lines, 0);
}

TEST(ColumnBands, HatchWithoutGroundLeavesWhatIsBelow)
{
    const QImage image = drawn([](QPainter& painter) { hatchBands(painter, kLeft, kBands, Qt::black); });
    EXPECT_EQ(image.pixelColor(kLeft, 4), QColor(Qt::white));
    EXPECT_EQ(image.pixelColor(kLeft, 3), QColor(Qt::black)) << "3 + 3 is a line's";
}

TEST(ColumnBands, FineScreensHaveTheSameShape)
{
    const QImage image = drawn(
        [](QPainter& painter) { hatchBands(painter, kLeft, kBands, Qt::black, QColor(Qt::yellow)); }, 2);
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            EXPECT_EQ(image.pixelColor(x, y) == QColor(Qt::white), !isInside(x / 2, y / 2)) << x << ' ' << y;
}

TEST(ColumnBands, OnlyWhatTheClipShowsIsMade)
{
    const QImage image = drawn([](QPainter& painter) {
        painter.setClipRect(QRect(0, 0, 12, 6));
        hatchBands(painter, kLeft, kBands, Qt::black, QColor(Qt::yellow));
    });
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            EXPECT_EQ(image.pixelColor(x, y) == QColor(Qt::white), !(isInside(x, y) && y < 6))
                << x << ' ' << y;
}

} // namespace
} // namespace tilescope::ui
