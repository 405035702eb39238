#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// One run, as far as its step time is compared.
struct TimedRun {
    std::vector<double> times = {}; ///< of its timed steps, in their order, ms; positive
    bool disturbed = false;         ///< the run is flagged, or its host was busy with other work
};

/// How much the medians of runs of one program differ.
struct BetweenRuns {
    enum class Source : std::uint8_t {
        Repeats, ///< the spread of repeated runs
        Given,   ///< a figure that the user gave
        Steps,   ///< the steps of single runs: a guess at its upper end, which no interval can be based on
    };
    double deviation = 0;  ///< standard deviation of the logarithms of the medians
    double degrees = 1;    ///< of freedom: how well the deviation is known
    std::int64_t runs = 0; ///< repeated runs that it was learned from
    Source source = Source::Steps;

    bool isMeasured() const { return source != Source::Steps; }
};

/// What the data support.
enum class Verdict : std::uint8_t { Inconclusive, NoDifference, Faster, Slower };

std::string_view wordOf(Verdict verdict); ///< inconclusive, no-difference, faster, slower

/// A difference within this share of A is none that matters.
inline constexpr double kNoDifference = 0.05;
/// What Verdict::Faster and Slower, and every interval, are held to.
inline constexpr double kConfidence = 0.95;

/// The step time of B against that of A, each one run or several repeats.
///
/// Everything in it follows from one estimate: verdict, interval and sentence cannot disagree.
struct TimeDifference {
    std::int64_t runsA = 0;
    std::int64_t runsB = 0;
    std::int64_t stepsA = 0; ///< of all runs of A
    std::int64_t stepsB = 0;
    double medianA = 0; ///< the run's median; of repeats the geometric mean of their medians
    double medianB = 0;
    double difference = 0; ///< medianB - medianA
    double ratio = 1;      ///< medianB / medianA
    BetweenRuns between = {};
    /// A ratio outside 1 / reach to reach is a difference.
    double reach = 1;
    /// 95 % confidence intervals; none where the deviation between runs is not measured.
    std::optional<ConfidenceInterval> ratio95 = {};
    std::optional<ConfidenceInterval> difference95 = {}; ///< excludes 0 if and only if ratio95 excludes 1
    Verdict verdict = Verdict::Inconclusive;

    bool isDifferent() const { return verdict == Verdict::Faster || verdict == Verdict::Slower; }
    /// Repeats of each side that would narrow the interval to kNoDifference; none where more than 50 would be
    /// needed.
    std::optional<std::int64_t> repeatsNeeded() const;
};

/// What is known of the deviation between runs besides what the compared runs show.
struct KnownDeviation {
    /// Medians of further repeats: runs of the specs of A or B that are on neither side; one group a spec.
    std::vector<std::vector<double>> repeats = {};
    std::optional<double> given = {}; ///< replaces every estimate
};

/// How much runs such as these differ.
///
/// With repeats it is the pooled standard deviation of the logarithms of their medians. A pair of single runs
/// has no degree of freedom for it. Its steps give a lower bound: the spread of the medians of five blocks of
/// consecutive steps, in which a drift or a change of level shows. What differs between runs, but not within
/// one (placement of memory, clocks, other work on the host) stays hidden, so the deviation is taken to be at
/// least 5 %, 10 % where a run is disturbed, and 20 % where its timed steps took less than a second, and as
/// uncertain as one of two degrees of freedom. These figures are calibrated on the loaded and the short
/// recordings in tests/bench/results/compare and checked on the others.
BetweenRuns betweenRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                        const KnownDeviation& known = {});

/// Compares two sides by the logarithms of the medians of their runs: Student's t with the deviation between
/// runs.
/// \return  none where a side has no timed step
/// O(steps).
std::optional<TimeDifference> compareRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                                          const KnownDeviation& known = {});

/// The verdict in one sentence, with the figures that it rests on.
std::string sentenceOf(const TimeDifference& difference);

/// Why there is no interval; empty where there is one.
std::string whyNoInterval(const TimeDifference& difference);

} // namespace tilescope::analysis
