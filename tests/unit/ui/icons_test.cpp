#include "ui/theme/icons.h"

#include <QImage>
#include <QPainter>
#include <QPicture>

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilescope::ui {
namespace {

QImage emptyImage(double ratio)
{
    QImage image(int(40 * ratio), int(40 * ratio), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(qRgb(240, 230, 200));
    return image;
}

int largestDifference(const QImage& a, const QImage& b)
{
    int most = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            for (const int d : {qRed(p) - qRed(q), qGreen(p) - qGreen(q), qBlue(p) - qBlue(q)})
                most = std::max(most, std::abs(d));
        }
    return most;
}

TEST(Icons, LookOnScreensAsTheirShapesDo)
{
    const QColor colour(40, 90, 160);
    for (const Icon icon : {Icon::Overview, Icon::ChevronDown, Icon::Running, Icon::Warning})
        for (const double ratio : {1.0, 1.5, 2.0})
            for (const QRectF& place :
                 {QRectF(4, 5, 12, 12), QRectF(3.5, 2.25, 16, 16), QRectF(0, 0, 24, 24)}) {
                QPicture shapes; // keeps them as a PDF does
                QPainter recorder(&shapes);
                paintIcon(recorder, icon, place, colour);
                recorder.end();
                QImage expected = emptyImage(ratio);
                QPainter(&expected).drawPicture(0, 0, shapes);
                for (int time = 0; time < 2; ++time) { // the second time from the cache
                    QImage image = emptyImage(ratio);
                    QPainter painter(&image);
                    paintIcon(painter, icon, place, colour);
                    painter.end();
                    EXPECT_LE(largestDifference(image, expected), 2) // two roundings of a blended channel
                        << int(icon) << " at " << ratio << ", " << place.x();
                }
            }
}

} // namespace
} // namespace tilescope::ui
