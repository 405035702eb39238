#pragma once

#include <QString>

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// The time interval that a view shows, in nanoseconds on its own axis.
struct TimeWindow {
    double from = 0;
    double to = 1;

    double length() const { return to - from; }
    bool operator==(const TimeWindow&) const = default;

    /// The window scaled by `factor` (below 1: closer). The instant `fixed` keeps its position.
    TimeWindow zoomed(double factor, double fixed) const;
    TimeWindow panned(double by) const { return {from + by, to + by}; }
    /// Not shorter than `shortest`, not beyond `bounds` by more than half a window on either side.
    TimeWindow within(const TimeWindow& bounds, double shortest) const;
};

/// A labelled instant of an axis.
struct Tick {
    double at = 0; ///< nanoseconds
    QString label; ///< empty: a tick without label
};

/// Ticks at round steps (1, 2, 5 times a power of ten) that leave `spacing` pixels between labels; no label
/// repeats, and the last one carries the unit.
/// \param pixels  width of the axis
std::vector<Tick> timeTicks(const TimeWindow& window, double pixels, double spacing);

/// The value of a tick with every digit that it has: 0.05, 12.5, 11 250. Rounding errors are removed.
QString tickText(double tick);

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
double roundStep(double step);

/// Round steps for any quantity: multiples of 1, 2 or 5 times a power of ten within [from, to], about `count`
/// of them.
std::vector<double> roundSteps(double from, double to, int count);

} // namespace tilescope::ui
