#pragma once

#include "core/analysis/compare/run_comparison.h"
#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The optimal block length, in steps, of a circular block bootstrap of the mean; 1 for independent values.
/// Politis and White (2004), with the correction of Patton et al. (2009).
/// \return  1 to a third of the series
/// O(n log n).
std::size_t blockLength(std::span<const double> series);

/// A comparison of two parts of one run: b is the later part, a the earlier.
struct SeriesDifference {
    std::int64_t stepsA = 0;
    std::int64_t stepsB = 0;
    double medianA = 0;
    double medianB = 0;
    double ratio = 1; ///< medianB / medianA
    ConfidenceInterval ratio95{};

    /// Whether the difference is significant: its interval excludes 1.
    bool seen() const { return ratio95.low > 1 || ratio95.high < 1; }
};

/// Compares the medians of two parts of one run.
///
/// The standard error of the logarithm of the ratio comes from a circular block bootstrap, which keeps the
/// order of steps within a block and thus accounts for slow drifts. The interval uses Student's quantile with
/// one degree of freedom per block. It is valid for this run only; compareRuns() compares runs. Deterministic
/// for given values and seed.
/// \param a, b  in the order of the steps; positive
/// \return      none if either has fewer than two values
/// O(resamples x n), n at most 10,000: longer series are first reduced to medians of neighbours.
std::optional<SeriesDifference> compareSeries(std::span<const double> a, std::span<const double> b,
                                              std::uint64_t seed = 1);

/// The times of a kernel, op, family or range in the traced steps of one side.
struct GroupTimes {
    std::string key = {};
    /// Per run, the time in each traced step, ns; 0 for steps and runs without it.
    std::vector<std::vector<double>> runs = {};
    double instancesPerStep = 0;
};

enum class GroupVerdict : std::uint8_t {
    Inconclusive,
    NoDifference, ///< the interval lies within kNoDifference of A
    Slower,
    Faster,
    Count,    ///< different number of launches
    New,      ///< only in B
    Gone,     ///< only in A
    Untested, ///< too few traced steps for a test
};

/// inconclusive, no-difference, slower, faster, count, new, gone, untested
std::string_view wordOf(GroupVerdict verdict);

/// One group of both sides.
struct GroupDifference {
    std::string key = {};
    std::optional<double> a = {}; ///< mean per step, ns; none if the group is new
    std::optional<double> b = {}; ///< none if the group is gone
    double instancesA = 0;        ///< per step
    double instancesB = 0;
    std::optional<double> ratio = {}; ///< b / a
    /// Interval of b - a, ns; a missing side counts as 0. None if the steps of a side do not vary. Widened
    /// for the number of groups (Benjamini and Yekutieli, 2005), so that it excludes 0 if and only if a
    /// tested group is slower or faster.
    std::optional<ConfidenceInterval> difference95 = {};
    std::optional<double> p = {}; ///< from Welch's test with the deviation between runs; none if untested
    GroupVerdict verdict = GroupVerdict::Untested;
};

/// Matches groups by key and compares them; the largest change in time comes first.
///
/// With two or more runs per side, a group is tested by Welch's t on the means of its runs, whose deviation
/// is at least that of the step time, and with the shift between sides that were not taken in turn. A single run
/// shows no deviation between runs; the larger of the step time's deviation and the group's deviation from step to
/// step is assumed. The expected share of wrong verdicts among slower and faster groups is at most `falseDiscovery` (Benjamini and Hochberg, 1995). A
/// different number of launches needs no test.
/// \param between  the deviation of step times between runs: TimeDifference::between
/// O(g log g + values).
std::vector<GroupDifference> compareGroups(std::span<const GroupTimes> a, std::span<const GroupTimes> b,
                                           const BetweenRuns& between, double falseDiscovery = 0.05);

/// Whether each p-value is a discovery at the false-discovery rate `q`, by Benjamini and Hochberg's step-up
/// procedure.
std::vector<bool> discoveries(std::span<const double> pValues, double q);

} // namespace tilescope::analysis
