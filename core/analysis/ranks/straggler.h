#pragma once

#include "core/analysis/ranks/lateness.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// How late each process was in a step: the sum of CollectiveTiming::late over the collectives where it was last.
struct StepLateness {
    std::int32_t step = 0;
    std::map<ProcessIndex, Nanoseconds> late = {}; ///< for every process that took part

    /// The process with the largest sum; none if no process was late or two share the largest.
    ProcessIndex last() const;
};

/// By step, ascending. Collectives outside steps are left out.
std::vector<StepLateness> latenessOfSteps(std::span<const MatchedCollective> collectives,
                                          std::span<const CollectiveTiming> timings);

/// In five steps, one of two ranks may be last in all of them by chance: 2 x 0.5^5 = 0.06.
inline constexpr std::int64_t kFewestStepsForVerdict = 6;
/// Probability below which chance is ruled out.
inline constexpr double kStragglerLevel = 0.05;

/// Whether the same rank is late in step after step.
///
/// The test: if each of N ranks were equally likely to be the last of a step, independently of other steps, the
/// number of steps in which a given rank is last would have a binomial distribution with probability 1 / N.
/// `chance` is the exact probability of at least as many steps as observed for the rank that was last most often,
/// times N because any rank could have been that one (Bonferroni). Steps without a last rank do not count.
struct StragglerVerdict {
    enum class Kind : std::uint8_t {
        NothingToCompare, ///< fewer than two ranks, or no collective of several of them
        TooFewSteps,      ///< fewer than kFewestStepsForVerdict
        NoStraggler,      ///< no rank is last more often than chance explains
        Straggler,        ///< chance < kStragglerLevel
    };
    Kind kind = Kind::NothingToCompare;
    std::size_t ranks = 0;
    std::int64_t steps = 0;    ///< in which some rank was last
    ProcessIndex process = {}; ///< the process that was last in most steps; none: no step, or a tie
    std::int64_t lastIn = 0;   ///< number of steps in which it was last
    double chance = 1;         ///< at most 1
    Nanoseconds median{0};     ///< its lateness in the steps in which it was last
    Nanoseconds least{0};
    Nanoseconds most{0};
};

StragglerVerdict stragglerOf(std::span<const StepLateness> steps);

/// The probability of at least `successes` in `trials` independent trials.
/// \param each  probability of a success, between 0 and 1
/// O(trials).
double binomialTail(std::int64_t successes, std::int64_t trials, double each);

} // namespace tilescope::analysis
