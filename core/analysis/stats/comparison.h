#pragma once

#include "core/analysis/stats/run_comparison.h"
#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// How long the memory of a series is, in steps: the block length that makes a circular block bootstrap of
/// its mean least wrong. 1 for independent values. Politis and White (2004), with the correction of Patton et
/// al. (2009).
/// \return  1 to a third of the series
/// O(n log n).
std::size_t blockLength(std::span<const double> series);

/// Two stretches of the steps of one run, the later against the earlier.
struct SeriesDifference {
    std::int64_t stepsA = 0;
    std::int64_t stepsB = 0;
    double medianA = 0;
    double medianB = 0;
    double ratio = 1; ///< medianB / medianA
    ConfidenceInterval ratio95{};

    /// Whether the interval excludes 1.
    bool seen() const { return ratio95.low > 1 || ratio95.high < 1; }
};

/// Compares the medians of two stretches of one run.
///
/// The standard error of the logarithm of the ratio comes from a circular block bootstrap that keeps the
/// order of the steps within a block, so that slow drifts count for what they are; the interval takes
/// Student's quantile for as many degrees of freedom as there are blocks. It covers the steps of this run
/// only: runs are compared by compareRuns(). Always the same for the same values and seed.
/// \param a, b  in the order of the steps; positive
/// \return      none where either has fewer than two values
/// O(resamples x n), n at most 10,000: longer series are first reduced to medians of neighbours.
std::optional<SeriesDifference> compareSeries(std::span<const double> a, std::span<const double> b,
                                              std::uint64_t seed = 1);

/// What a kernel, op, family or range took in the traced steps of one side.
struct GroupTimes {
    std::string key = {};
    /// Run after run the time in each traced step, ns; 0 in steps and runs in which it does not occur.
    std::vector<std::vector<double>> runs = {};
    double instancesPerStep = 0;
};

enum class GroupVerdict : std::uint8_t {
    Inconclusive,
    NoDifference, ///< the interval lies within kNoDifference of A
    Slower,
    Faster,
    Count,    ///< launched more or less often
    New,      ///< only in B
    Gone,     ///< only in A
    Untested, ///< too few traced steps to tell
};

/// inconclusive, no-difference, slower, faster, count, new, gone, untested
std::string_view wordOf(GroupVerdict verdict);

/// One group of both sides.
struct GroupDifference {
    std::string key = {};
    std::optional<double> a = {}; ///< mean per step, ns; none where it is new
    std::optional<double> b = {}; ///< none where it is gone
    double instancesA = 0;        ///< per step
    double instancesB = 0;
    std::optional<double> ratio = {}; ///< b / a
    /// Of b - a, ns, what is gone or new counting as 0 on the other side; none where the steps of a side show
    /// no spread. Widened for the number of groups (Benjamini and Yekutieli, 2005), so that it excludes 0 if
    /// and only if a tested group is called slower or faster.
    std::optional<ConfidenceInterval> difference95 = {};
    std::optional<double> p = {}; ///< of Welch's test with the deviation between runs; none where untested
    GroupVerdict verdict = GroupVerdict::Untested;
};

/// Matches groups by key and says which differ; the largest change in time first.
///
/// With two or more runs a side a group is tested by Welch's t on the means of its runs, whose deviation is
/// taken to be at least that of the step time. A single run shows no deviation of its groups: it is taken to
/// be that of the step time or that of the group from step to step, whichever is larger. Of those called
/// slower or faster at most `falseDiscovery` are expected to be wrong (Benjamini and Hochberg, 1995). A
/// change in how often it is launched is certain and needs no test.
/// \param between  how much the step times of runs differ: TimeDifference::between
/// O(g log g + values).
std::vector<GroupDifference> compareGroups(std::span<const GroupTimes> a, std::span<const GroupTimes> b,
                                           const BetweenRuns& between, double falseDiscovery = 0.05);

/// Which of the p-values may be called discoveries at the false-discovery rate `q`: Benjamini and Hochberg's
/// step-up.
std::vector<bool> discoveries(std::span<const double> pValues, double q);

} // namespace tilescope::analysis
