#pragma once

#include "core/query/timeline/timeline.h"
#include "ui/kit/time_axis.h"
#include "ui/theme/palette.h"
#include "ui/timeline/box_runs.h"
#include "ui/timeline/box_shares.h"

#include <QImage>
#include <QRect>

#include <array>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// The target of filled boxes: an image directly, for a screen, or a QPainter, for a vector format.
/// Coordinates are device pixels of the plot.
class BoxTarget {
public:
    virtual ~BoxTarget() = default;
    virtual void fill(int left, int right, int top, int bottom, QRgb colour) = 0;
    /// Lines at 45 degrees.
    virtual void hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground) = 0;
};

/// Fills rows of an image of format RGB32. A fill of some hundred thousand boxes costs what its pixels cost.
class ImageTarget final : public BoxTarget {
public:
    explicit ImageTarget(QImage& image);
    void fill(int left, int right, int top, int bottom, QRgb colour) override;
    void hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground) override;

private:
    QRgb* pixels_;
    qsizetype stride_; // in pixels
    int width_;
    int height_;
};

class PainterTarget final : public BoxTarget {
public:
    explicit PainterTarget(QPainter& painter) : painter_(painter) {}
    void fill(int left, int right, int top, int bottom, QRgb colour) override;
    void hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground) override;

private:
    QPainter& painter_;
};

/// Passes on what is left of a column.
class CutTarget final : public BoxTarget {
public:
    CutTarget(BoxTarget& target, int end) : target_(target), end_(end) {}
    void fill(int left, int right, int top, int bottom, QRgb colour) override;
    void hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground) override;

private:
    BoxTarget& target_;
    int end_;
};

/// The colours of boxes: by kind of lane, hue, row and coverage. Made once per palette.
class BoxColours {
public:
    explicit BoxColours(const Palette& palette);
    /// \param level  coverage in eighths; never paler than 34 %
    QRgb of(query::Lane::Kind kind, query::Hue hue, std::size_t row, std::uint8_t level) const;
    QRgb laneGround() const { return laneGround_; }

private:
    using Ramp = std::array<QRgb, BoxRun::kLevels + 1>;
    Ramp rampOf(const QColor& colour) const;

    QColor ground_;
    QRgb laneGround_;
    std::array<Ramp, query::kHueCount> device_;
    std::array<Ramp, query::kHueCount> host_;
    std::array<Ramp, 3> ranges_;
};

/// Fills the boxes of one row between `top` and `bottom`.
/// Shares of the height of a row, from `top` to before `bottom`. What has a share gets a pixel at least.
void fillShares(BoxTarget& target, const std::vector<BoxShare>& shares, const BoxColours& colours,
                query::Lane::Kind kind, std::size_t row, int top, int bottom);

void fillBoxes(BoxTarget& target, const RowBoxes& boxes, const BoxColours& colours, query::Lane::Kind kind,
               std::size_t row, int top, int bottom);

/// The vertical range of curves, from 0: one for the memory lanes of all runs and one for each counter, so that
/// equal heights are equal values.
struct MemoryRange {
    double to = 1; ///< bytes, or thousandths of a counter's unit

    /// Extends the range to that of a memory lane.
    void include(const query::Lane& lane);
    /// Extends the range to that of a curve.
    void include(const query::StepCurve& curve);
    int yOf(double value, int top, int bottom) const;
};

/// Fills the lane of a curve: the area under it, with its edge.
/// \param until  the time at which its last value ends
void fillCurve(BoxTarget& target, const query::StepCurve& curve, std::int64_t until, double from,
               double perColumn, int columns, const MemoryRange& range, int top, int bottom, QRgb area,
               QRgb edge);
/// Hatches the times of a filled curve in which no value is known.
void hatchHoles(BoxTarget& target, const query::Lane& lane, double from, double perColumn, int columns,
                int top, int bottom, QRgb lines, QRgb ground);

} // namespace tilescope::ui
