#include "ui/timeline/column_bands.h"

#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope::ui {

namespace {

bool isRaster(const QPainter& painter)
{
    return painter.paintEngine()->type() == QPaintEngine::Raster;
}

void drawOutline(QPainter& painter, int left, const std::vector<ColumnBand>& bands, const QBrush& brush)
{
    QPolygonF outline;
    for (std::size_t i = 0; i < bands.size(); ++i)
        outline << QPointF(left + int(i), bands[i].top) << QPointF(left + int(i) + 1, bands[i].top);
    for (std::size_t i = bands.size(); i-- > 0;)
        outline << QPointF(left + int(i) + 1, bands[i].bottom) << QPointF(left + int(i), bands[i].bottom);
    painter.setPen(Qt::NoPen);
    painter.setBrush(brush);
    painter.drawPolygon(outline);
}

/// Lines continue across images: they are at device pixels whose column and row add up to a multiple.
QImage hatched(const std::vector<ColumnBand>& bands, int left, int top, int bottom, double ratio, QRgb lines,
               QRgb ground)
{
    const int every = std::max(4, int(std::lround(6 * ratio)));
    const int width = int(std::ceil(double(bands.size()) * ratio));
    const int height = int(std::ceil((bottom - top) * ratio));
    QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    // Separate lists and a row of lines to shift allow the compiler to choose many pixels at once.
    std::vector<int> tops;
    std::vector<int> bottoms;
    for (int x = 0; x < width; ++x) {
        const ColumnBand& band = bands[std::min(bands.size() - 1, std::size_t(x / ratio))];
        tops.push_back(int(std::lround((band.top - top) * ratio)));
        bottoms.push_back(int(std::lround((band.bottom - top) * ratio)));
    }
    std::vector<QRgb> row(std::size_t(width + every), ground);
    for (std::size_t x = 0; x < row.size(); x += std::size_t(every))
        row[x] = lines;
    const int shift = int(std::lround((left + top) * ratio));
    for (int y = 0; y < height; ++y) {
        auto* const line = reinterpret_cast<QRgb*>(image.scanLine(y));
        const QRgb* const shifted = row.data() + ((y + shift) % every + every) % every;
        for (int x = 0; x < width; ++x) {
            const auto at = std::size_t(x);
            line[x] = y >= tops[at] && y < bottoms[at] ? shifted[x] : 0;
        }
    }
    return image;
}

} // namespace

void fillBands(QPainter& painter, int left, const std::vector<ColumnBand>& bands, const QColor& colour)
{
    if (!isRaster(painter))
        return drawOutline(painter, left, bands, colour);
    std::vector<QRect> rects;
    for (std::size_t i = 0; i < bands.size();) {
        std::size_t next = i + 1;
        while (next < bands.size() && bands[next].top == bands[i].top &&
               bands[next].bottom == bands[i].bottom)
            ++next;
        if (bands[i].bottom > bands[i].top)
            rects.emplace_back(left + int(i), bands[i].top, int(next - i), bands[i].bottom - bands[i].top);
        i = next;
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawRects(rects.data(), int(rects.size()));
}

void hatchBands(QPainter& painter, int left, const std::vector<ColumnBand>& bands, const QColor& lines,
                const std::optional<QColor>& ground)
{
    int top = std::numeric_limits<int>::max();
    int bottom = std::numeric_limits<int>::min();
    for (const ColumnBand& band : bands)
        if (band.bottom > band.top) {
            top = std::min(top, band.top);
            bottom = std::max(bottom, band.bottom);
        }
    if (bands.empty() || bottom <= top)
        return;
    if (!isRaster(painter)) {
        if (ground)
            drawOutline(painter, left, bands, *ground);
        return drawOutline(painter, left, bands, QBrush(lines, Qt::BDiagPattern));
    }
    // Nothing is drawn outside the painter's clip.
    if (painter.hasClipping()) {
        const QRect clip = painter.clipBoundingRect().toAlignedRect();
        top = std::max(top, clip.top());
        bottom = std::min(bottom, clip.bottom() + 1);
        if (bottom <= top)
            return;
    }
    painter.drawImage(QPointF(left, top),
                      hatched(bands, left, top, bottom, painter.device()->devicePixelRatioF(),
                              qPremultiply(lines.rgba()), ground ? qPremultiply(ground->rgba()) : 0));
}

} // namespace tilescope::ui
