#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The step times of one run.
struct TimedRun {
    std::vector<double> times = {}; ///< times of its timed steps in order, ms; positive
    bool disturbed = false;         ///< the run is flagged, or its host was busy
};

/// The deviation between the medians of runs of one program.
struct BetweenRuns {
    enum class Source : std::uint8_t {
        Repeats, ///< the spread of repeated runs
        Given,   ///< a value that the user gave
        Steps,   ///< the steps of single runs: an estimate of the upper bound, not a basis for an
                 ///< interval
    };
    double deviation = 0;  ///< standard deviation of the logarithms of the medians
    double degrees = 1;    ///< degrees of freedom of the deviation
    std::int64_t runs = 0; ///< repeated runs behind the estimate
    Source source = Source::Steps;

    bool isMeasured() const { return source != Source::Steps; }
};

/// The conclusion of a comparison.
enum class Verdict : std::uint8_t { Inconclusive, NoDifference, Faster, Slower };

std::string_view wordOf(Verdict verdict); ///< inconclusive, no-difference, faster, slower

/// A smaller difference, as a share of A, does not matter.
inline constexpr double kNoDifference = 0.05;
/// The confidence level of verdicts and intervals.
inline constexpr double kConfidence = 0.95;

/// The step time of B compared with that of A; each side is one run or several repeats.
///
/// Verdict, interval and sentence all derive from one estimate, so they cannot disagree.
struct TimeDifference {
    std::int64_t runsA = 0;
    std::int64_t runsB = 0;
    std::int64_t stepsA = 0; ///< number of steps of all runs of A
    std::int64_t stepsB = 0;
    double medianA = 0; ///< the run's median; for repeats the geometric mean of their medians
    double medianB = 0;
    double difference = 0; ///< medianB - medianA
    double ratio = 1;      ///< medianB / medianA
    BetweenRuns between = {};
    /// A ratio below 1 / reach or above reach is a difference.
    double reach = 1;
    /// 95 % confidence intervals; none if the deviation between runs is not measured.
    std::optional<ConfidenceInterval> ratio95 = {};
    std::optional<ConfidenceInterval> difference95 = {}; ///< excludes 0 if and only if ratio95 excludes 1
    Verdict verdict = Verdict::Inconclusive;

    bool isDifferent() const { return verdict == Verdict::Faster || verdict == Verdict::Slower; }
    /// The number of repeats per side that would narrow the interval to kNoDifference; none above 50.
    std::optional<std::int64_t> repeatsNeeded() const;
    /// The number of repeats per side, larger than the current one, after which the logarithm of the ratio is
    /// known to +- `half`; 5 if the deviation between runs is not measured; none above 50.
    std::optional<std::int64_t> repeatsFor(double half) const;
};

/// Information about the deviation between runs, in addition to the compared runs.
struct KnownDeviation {
    /// Medians of further repeats: runs of the specs of A or B that are on neither side, one group per spec.
    std::vector<std::vector<double>> repeats = {};
    std::optional<double> given = {}; ///< replaces every estimate
    /// For a part of the step without a measured deviation: a lower bound, the deviation that the steps of
    /// the same runs suggest. A part is not trusted more than its step.
    double ofStep = 0;
};

/// The deviation between runs like these.
///
/// With repeats, it is the pooled standard deviation of the logarithms of their medians. A pair of single
/// runs has no degrees of freedom for it. Its steps yield a lower bound: the deviation between the medians of
/// five blocks of consecutive steps, which shows a drift or a change of level. Effects that differ between
/// runs but not within one (placement of memory, clocks, other work on the host) remain invisible. Therefore
/// the deviation is at least 5 %, 10 % if a run is disturbed, and 20 % if its timed steps took less than a
/// second, with two degrees of freedom. These values are calibrated with the loaded and the short recordings
/// in tests/bench/results/compare and checked with the others.
BetweenRuns betweenRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                        const KnownDeviation& known = {});

/// Compares two sides by the logarithms of the medians of their runs, with Student's t and the deviation
/// between runs.
/// \return  none if a side has no timed step
/// O(steps).
std::optional<TimeDifference> compareRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                                          const KnownDeviation& known = {});

/// The verdict and its figures in one sentence.
std::string sentenceOf(const TimeDifference& difference);

/// Why there is no interval; empty if there is one.
std::string whyNoInterval(const TimeDifference& difference);

} // namespace tilescope::analysis
