#include "ui/timeline/lane_painter.h"

#include "ui/kit/hatch.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Hue;
using query::Lane;

ImageTarget::ImageTarget(QImage& image)
    : pixels_(reinterpret_cast<QRgb*>(image.bits())), stride_(image.bytesPerLine() / 4),
      width_(image.width()), height_(image.height())
{
    Q_ASSERT(image.format() == QImage::Format_RGB32);
}

void ImageTarget::fill(int left, int right, int top, int bottom, QRgb colour)
{
    left = std::max(left, 0);
    right = std::min(right, width_);
    top = std::max(top, 0);
    bottom = std::min(bottom, height_);
    if (left >= right)
        return;
    for (int y = top; y < bottom; ++y)
        std::fill(pixels_ + y * stride_ + left, pixels_ + y * stride_ + right, colour);
}

void ImageTarget::hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground)
{
    fill(left, right, top, bottom, ground);
    constexpr int kEvery = 6;
    for (int y = std::max(top, 0); y < std::min(bottom, height_); ++y)
        for (int x = std::max(left, 0); x < std::min(right, width_); ++x)
            if ((x + y) % kEvery == 0)
                pixels_[y * stride_ + x] = colour;
}

void PainterTarget::fill(int left, int right, int top, int bottom, QRgb colour)
{
    painter_.fillRect(QRect(left, top, right - left, bottom - top), QColor(colour));
}

void PainterTarget::hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground)
{
    fillHatched(painter_, QRectF(left, top, right - left, bottom - top), QColor(colour), QColor(ground));
}

void CutTarget::fill(int left, int right, int top, int bottom, QRgb colour)
{
    if (left < end_)
        target_.fill(left, std::min(right, end_), top, bottom, colour);
}

void CutTarget::hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground)
{
    if (left < end_)
        target_.hatch(left, std::min(right, end_), top, bottom, colour, ground);
}

BoxColours::BoxColours(const Palette& palette)
    : ground_(palette.laneGround), laneGround_(palette.laneGround.rgb())
{
    const double hostShare = palette.dark ? 0.78 : 0.62;
    for (std::size_t i = 0; i < query::kHueCount; ++i) {
        device_[i] = rampOf(palette.hues[i]);
        const bool family = i < analysis::kKernelFamilies;
        host_[i] = rampOf(family ? blend(palette.hues[i], palette.surface, hostShare) : palette.hues[i]);
    }
    // Ops without kernels of their own are neutral: colour means work.
    host_[std::size_t(Hue::Other)] = rampOf(palette.ranges[0]);
    for (std::size_t depth = 0; depth < ranges_.size(); ++depth)
        ranges_[depth] = rampOf(palette.ranges[depth]);
}

BoxColours::Ramp BoxColours::rampOf(const QColor& colour) const
{
    constexpr double kPalest = 0.34;
    Ramp ramp;
    for (std::size_t level = 0; level < ramp.size(); ++level)
        ramp[level] = blend(colour, ground_, std::max(kPalest, double(level) / BoxRun::kLevels)).rgb();
    return ramp;
}

QRgb BoxColours::of(Lane::Kind kind, Hue hue, std::size_t row, std::uint8_t level) const
{
    if (hue == Hue::Range)
        return ranges_[std::min(row, ranges_.size() - 1)][level];
    return (kind == Lane::Kind::Thread ? host_ : device_)[std::size_t(hue)][level];
}

void fillBoxes(BoxTarget& target, const RowBoxes& boxes, const BoxColours& colours, Lane::Kind kind,
               std::size_t row, int top, int bottom)
{
    for (const BoxRun& run : boxes.runs) {
        const QRgb colour = colours.of(kind, run.hue, row, run.level);
        if (run.hue == Hue::GapUnexplained)
            target.hatch(run.from, run.to, top, bottom, colour, colours.laneGround());
        else
            target.fill(run.from, run.to, top, bottom, colour);
    }
}

void fillShares(BoxTarget& target, const std::vector<BoxShare>& shares, const BoxColours& colours,
                Lane::Kind kind, std::size_t row, int top, int bottom)
{
    const int height = bottom - top;
    const auto yOf = [&](std::uint8_t parts) {
        return bottom - int(std::lround(double(parts) * height / BoxShare::kParts));
    };
    for (const BoxShare& share : shares) {
        const QRgb colour = colours.of(kind, share.hue, row, BoxRun::kLevels);
        const int low = yOf(share.low);
        const int high = std::min(yOf(share.high), std::max(top, low - 1));
        if (share.hue == Hue::GapUnexplained)
            target.hatch(share.from, share.to, high, low, colour, colours.laneGround());
        else
            target.fill(share.from, share.to, high, low, colour);
    }
}

void MemoryRange::include(const Lane& lane)
{
    if (!lane.allocated.empty())
        include(lane.allocated);
}

void MemoryRange::include(const query::StepCurve& curve)
{
    constexpr double kRoom = 1.1; // above the peak
    to = std::max(to, kRoom * double(curve.value(curve.peak())));
}

int MemoryRange::yOf(double value, int top, int bottom) const
{
    const double share = std::clamp(value / to, 0.0, 1.0);
    return bottom - 1 - int(std::lround(share * (bottom - top - 2)));
}

void fillCurve(BoxTarget& target, const query::StepCurve& curve, std::int64_t until, double from,
               double perColumn, int columns, const MemoryRange& range, int top, int bottom, QRgb area,
               QRgb edge)
{
    if (curve.empty() || columns <= 0)
        return;
    std::vector<query::CurveColumn> extremes(static_cast<std::size_t>(columns));
    curve.columns(from, perColumn, extremes);
    const double firstTime = double(curve.time(0));
    const double lastTime = double(until);
    for (int c = 0; c < columns; ++c) {
        // Nothing is known before the first value and after the last.
        if (from + (c + 1) * perColumn < firstTime || from + c * perColumn > lastTime)
            continue;
        const query::CurveColumn& column = extremes[std::size_t(c)];
        const int high = range.yOf(double(column.high), top, bottom);
        const int low = range.yOf(double(column.low), top, bottom);
        target.fill(c, c + 1, high, bottom, area);
        target.fill(c, c + 1, high, std::max(low, high) + 1, edge);
    }
}

void hatchHoles(BoxTarget& target, const Lane& lane, double from, double perColumn, int columns, int top,
                int bottom, QRgb lines, QRgb ground)
{
    for (const auto& [start, end] : lane.holes) {
        const double left = std::floor((double(start) - from) / perColumn);
        const double right = std::ceil((double(end) - from) / perColumn);
        // A hole within a column is beside values of the same column.
        if (double(end - start) < perColumn || right <= 0 || left >= columns)
            continue;
        const int first = int(std::max(left, 0.0));
        const int last = int(std::min(right, double(columns)));
        target.fill(first, last, top, bottom, ground);
        target.hatch(first, last, top, bottom, lines, ground);
    }
}

} // namespace tilescope::ui
