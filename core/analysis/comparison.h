#pragma once

#include "core/analysis/run_to_run.h"
#include "core/analysis/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// What a comparison takes for granted.
struct ComparisonOptions {
    /// By how much the medians of two runs of one and the same program differ beyond what their steps tell
    /// (clocks, memory placement): learned from repeated runs where there are any (learnRunToRun), so that a
    /// comparison of two single runs leans on the prior and one among repeats on what they showed.
    RunToRun runToRun = {};
    double falseDiscovery = 0.05; ///< of what is called different in a table, the share that may be wrong
    std::uint64_t seed = 1;
};

/// How long the memory of a series is, in steps: the block length that makes a circular block bootstrap of
/// its mean least wrong. 1 for independent values. Politis and White (2004), with the correction of Patton et
/// al. (2009). \return  1 to a third of the series O(n log n).
std::size_t blockLength(std::span<const double> series);

/// Two series of times, B against A.
struct SeriesDifference {
    std::int64_t stepsA = 0;
    std::int64_t stepsB = 0;
    double medianA = 0;
    double medianB = 0;
    double difference = 0; ///< medianB - medianA
    ConfidenceInterval difference95{};
    double ratio = 1; ///< medianB / medianA
    ConfidenceInterval ratio95{};

    /// Whether the interval of the difference leaves out zero.
    bool seen() const { return difference95.low > 0 || difference95.high < 0; }
};

/// Compares the medians of two series of step times that were measured one after the other.
///
/// The standard error of the difference and of the ratio comes from a circular block bootstrap that keeps the
/// order of the steps within a block, so that slow drifts count for what they are; the intervals take
/// Student's quantile for as many degrees of freedom as there are blocks, and the run-to-run deviation on
/// top. Always the same for the same values and seed. \param a, b  in the order of the steps; positive
/// \return      none where either has fewer than two values
/// O(resamples x n), n at most 10,000: longer series are first reduced to medians of neighbours.
std::optional<SeriesDifference> compareSeries(std::span<const double> a, std::span<const double> b,
                                              const ComparisonOptions& options = {});

/// What a kernel, family or range took in each traced step of a run.
struct GroupTimes {
    std::string key = {};
    std::vector<double> perStep = {}; ///< ns; 0 for a step in which it does not occur
    double instancesPerStep = 0;
};

enum class GroupVerdict : std::uint8_t {
    Same, ///< no difference seen
    Slower,
    Faster,
    Count,    ///< launched more or less often
    New,      ///< only in B
    Gone,     ///< only in A
    Untested, ///< too few traced steps to tell
};

std::string_view wordOf(GroupVerdict verdict); ///< none, slower, faster, count, new, gone, untested

/// One group of both runs.
struct GroupDifference {
    std::string key = {};
    std::optional<double> a = {}; ///< mean per step, ns; none where it is new
    std::optional<double> b = {}; ///< none where it is gone
    double instancesA = 0;        ///< per step
    double instancesB = 0;
    std::optional<double> ratio = {}; ///< b / a
    /// Of b - a, ns, what is gone or new counting as 0 on the other side; none where a run that has the group
    /// has fewer than two traced steps. Of one group: not widened for how many are compared.
    std::optional<ConfidenceInterval> difference95 = {};
    std::optional<double> p = {}; ///< of Welch's test with the run-to-run deviation; none where untested
    GroupVerdict verdict = GroupVerdict::Untested;
};

/// Matches groups by key and says which differ; the largest change in time first.
///
/// Each group present in both is tested by Welch's t on its steps; of those called slower or faster at most
/// `falseDiscovery` are expected to be wrong (Benjamini and Hochberg, 1995). A change in how often it is
/// launched is certain and needs no test. O(g log g + values).
std::vector<GroupDifference> compareGroups(std::span<const GroupTimes> a, std::span<const GroupTimes> b,
                                           const ComparisonOptions& options = {});

/// Which of the p-values may be called discoveries at the false-discovery rate `q`: Benjamini and Hochberg's
/// step-up.
std::vector<bool> discoveries(std::span<const double> pValues, double q);

} // namespace tilescope::analysis
