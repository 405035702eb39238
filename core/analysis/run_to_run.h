#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// By how much medians of runs of one and the same program differ, beyond what their steps tell.
struct RunToRun {
    double deviation = 0.003; ///< standard deviation, as a fraction of the median
    double degrees = 8;       ///< of freedom behind it: how well it is known
    std::int64_t runs = 0;    ///< repeated runs that it was learned from; 0: the prior alone

    bool operator==(const RunToRun&) const = default;
};

/// What runs of the same spec teach: a scaled inverse chi-square prior (Gelman and others, Bayesian Data
/// Analysis, 3.3) with the degrees and deviation of a default RunToRun, updated by the spread of the
/// logarithms of the medians within each group. Two repeats move it little; twenty outweigh it. The noise of
/// the steps themselves is in those medians too, so the result is rather too large than too small. \param
/// groups  medians of repeated runs, one group a spec; groups of one teach nothing; positive O(n).
RunToRun learnRunToRun(std::span<const std::vector<double>> groups, const RunToRun& prior = {});

} // namespace tilescope::analysis
