#include "ui/kit/elided_text.h"
#include "ui/kit/text_cache.h"
#include "ui/theme/theme.h"

#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <functional>

namespace tilescope::ui {
namespace {

QImage pictureOf(double ratio, const std::function<void(QPainter&)>& draw)
{
    QImage image(int(200 * ratio), int(40 * ratio), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::white);
    QPainter painter(&image);
    draw(painter);
    return image;
}

// Half a pixel is rounded up by one way of drawing and down by the other.
bool lookAlikeWithinAPixelOfHeight(const QImage& a, const QImage& b)
{
    const QRect all = a.rect();
    return a == b ||
           a.copy(all.translated(0, 1)).copy(0, 0, all.width(), all.height() - 1) ==
               b.copy(0, 0, all.width(), all.height() - 1) ||
           b.copy(all.translated(0, 1)).copy(0, 0, all.width(), all.height() - 1) ==
               a.copy(0, 0, all.width(), all.height() - 1);
}

TEST(TextCache, DrawsWhatDrawTextDraws)
{
    TextCache cache;
    const QString words = QStringLiteral("stream 7 of a process with a long name");
    for (const QFont& font : {Theme::instance().body(), Theme::instance().small(), Theme::instance().bold()})
        for (const double ratio : {1.0, 1.5, 2.0})
            for (const int width : {190, 90, 30})
                for (const int height : {30, 27, 20})
                    for (const Qt::Alignment alignment :
                         {Qt::AlignLeft | Qt::AlignVCenter, Qt::AlignRight | Qt::AlignVCenter,
                          Qt::AlignRight | Qt::AlignTop, Qt::AlignRight | Qt::AlignBottom}) {
                        const QRect area(3, 5, width, height);
                        const QImage drawn = pictureOf(ratio, [&](QPainter& painter) {
                            painter.setFont(font);
                            painter.drawText(
                                area, int(alignment),
                                elidedText(words, painter.fontMetrics(), Qt::ElideMiddle, width));
                        });
                        for (int time = 0; time < 2; ++time) // the second time from the cache
                            EXPECT_TRUE(lookAlikeWithinAPixelOfHeight(
                                pictureOf(ratio,
                                          [&](QPainter& painter) {
                                              painter.setFont(font);
                                              cache.draw(painter, area, alignment, words);
                                          }),
                                drawn))
                                << width << " × " << height << " at " << ratio;
                    }
}

TEST(TextCache, KeepsASizedFontUntilItsFontChanges)
{
    TextCache cache;
    const QFont body = Theme::instance().body();
    const QFont bold = Theme::instance().bold();
    EXPECT_EQ(cache.sized(body, 8).pixelSize(), 8);
    EXPECT_EQ(cache.sized(body, 8).weight(), body.weight());
    EXPECT_EQ(cache.sized(bold, 8).weight(), bold.weight());
}

} // namespace
} // namespace tilescope::ui
