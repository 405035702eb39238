#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A segment of steps with about equal times.
struct Level {
    std::size_t begin = 0; ///< index of its first step
    std::size_t end = 0;   ///< one past its last step
    double median = 0;
};

/// The levels of a series of step times, beginning with the warm-up steps, and the step at which it settles.
struct SteadyState {
    std::vector<Level> levels = {};
    std::size_t from = 0; ///< first step after which all levels are within 1 % of the last
    bool reached = true;  ///< false: the last level is too short to count as settled
};

/// Determines where step times settle: change points by PELT (Killick, Fearnhead and Eckley, 2012), as
/// Barrett and others (Virtual Machine Warmup Blows Hot and Cold, 2017) determine the warm-up of benchmarks.
///
/// Alternatives: MSER truncates at a minimum of the standard error and cannot report that a series never
/// settles; E-divisive (Matteson and James, 2014) needs no noise model, but O(n^2) permutations for each
/// point. PELT minimises its cost exactly and yields the levels. The cost is the squared deviation of the
/// logarithm of the times in units of the noise. The scale of the noise comes from differences of neighbours,
/// so changes of level do not increase it. Isolated outliers caused by a busy host are first replaced by the
/// median of their neighbours (Hampel, 1974). The penalty is that of the modified Bayesian information
/// criterion (Zhang and Siegmund, 2007), 3 log n per level, plus 2 log n because the autocorrelation of the
/// noise, by which it is scaled, is only an estimate. With it, fewer than one in a hundred stationary runs
/// counts as unsteady (tests).
/// \param times  of steps in order, positive; a series of fewer than 8 is one level
/// O(n) to O(n^2), n at most 2,000: longer series are first reduced to medians of neighbours.
SteadyState steadyState(std::span<const double> times);

/// The trend of the step times.
struct Drift {
    double change = 0; ///< over the whole series, as a fraction of its median
    ConfidenceInterval change999{};

    /// Whether the drift is significant: the interval excludes zero and the change is at least 1 %.
    bool seen() const;
};

/// The median of the slopes of all pairs (Theil, 1950), which is robust against outliers, with Sen's (1968)
/// 99.9 % interval, widened for autocorrelation as Hamed and Rao (1998) widen Kendall's variance.
/// \return  none for fewer than 8 steps
/// O(n^2 log n), n at most 500: longer series are first reduced to medians of neighbours.
std::optional<Drift> driftOf(std::span<const double> times);

} // namespace tilescope::analysis
