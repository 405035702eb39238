#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A stretch of steps that took about the same time.
struct Level {
    std::size_t begin = 0; ///< index of its first step
    std::size_t end = 0;   ///< one past its last
    double median = 0;
};

/// The stretches of a series of step times, warm-up steps first, and where it settles.
struct SteadyState {
    std::vector<Level> levels = {};
    std::size_t from = 0; ///< first step from which on the time stays within 1 % of the last level's
    bool reached = true;  ///< false where the last level is too short to be called settled
};

/// Where step times settle: change points by PELT (Killick, Fearnhead and Eckley, 2012), as Barrett and
/// others (Virtual Machine Warmup Blows Hot and Cold, 2017) find the warm-up of benchmarks.
///
/// Other methods were weighed: MSER truncates by one minimum of a standard error and cannot say "never";
/// E-divisive (Matteson and James, 2014) needs no noise model but permutations of O(n^2) distances for each
/// point; PELT is exact for its cost and tells each level. The cost is the squared deviation of the logarithm
/// of the times in units of their noise, whose scale is taken from the differences of neighbours, so that
/// levels do not widen it. Single steps that a busy host stretched are no levels: they are first replaced by
/// the median of their neighbours (Hampel, 1974). The penalty is the modified Bayesian information
/// criterion's (Zhang and Siegmund, 2007), 3 log n a level, and two log n more, because the memory of the
/// noise, by which it is raised, can only be estimated: with it fewer than one in a hundred stationary runs
/// is called unsteady (tests).
/// \param times  of steps in order, positive; a series shorter than 8 is one level
/// O(n) to O(n^2), n at most 2,000: longer series are first reduced to medians of neighbours.
SteadyState steadyState(std::span<const double> times);

/// How step times move from the first to the last.
struct Drift {
    double change = 0; ///< over the whole series, as a fraction of its median
    ConfidenceInterval change999{};

    /// Whether the interval leaves out zero and the change is at least 1 %.
    bool seen() const;
};

/// The median of the slopes of all pairs (Theil, 1950), which stretched steps do not turn, with Sen's (1968)
/// 99.9 % interval, widened for the memory of the noise as Hamed and Rao (1998) widen Kendall's variance.
/// \return  none for fewer than 8 steps
/// O(n^2 log n), n at most 500: longer series are first reduced to medians of neighbours.
std::optional<Drift> driftOf(std::span<const double> times);

} // namespace tilescope::analysis
