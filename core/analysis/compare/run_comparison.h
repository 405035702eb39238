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
    bool hostWasLoaded = false;     ///< more threads were ready to run than the host has processors
    /// The share of its timed steps, 0 to 1, in which a thread waited for a core; none: not known.
    std::optional<double> waiting = {};
    std::int64_t started = 0; ///< Unix time, ns; 0: unknown
    /// The threads of one process that compute its steps on a CPU; 0: not known, or another device computes. One thread
    /// does not wait for another that waits for a core.
    int threads = 0;
    /// The share of its timed steps, 0 to 1, in which at least one of several threads waited for a core, if they waited
    /// independently of each other; none: not known.
    std::optional<double> someWaiting = {};
};

/// Whether the runs of A and B were taken in turn: two or more of each, in pairs of one A and one B (A B, B A, …). One
/// run that is left over at the end does not matter.
bool areInTurn(std::span<const TimedRun> a, std::span<const TimedRun> b);

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
    bool inTurn = false; ///< the runs were taken in turn: the deviation is that within their pairs
    /// The standard deviation by which all runs of a side may be higher, because the sides were taken at different times:
    /// their own spread does not show it. 0 for runs that were taken in turn, and for a given deviation.
    double shift = 0;
    double shiftDegrees = 1; ///< degrees of freedom of the shift

    bool isMeasured() const { return source != Source::Steps; }
};

/// The times that decide a comparison.
enum class Basis : std::uint8_t {
    Medians, ///< of the runs
    WithoutWaiting, ///< the mean steps of the runs, without the time in which a thread, or one of several, waited for a core
    QuickSteps,               ///< the times that the quickest tenth of the steps of each run do not exceed
    QuickStepsWithoutWaiting, ///< these, without the share of the timed steps in which a thread waited for a core
};

/// medians, without-waiting, quick-steps, quick-steps-without-waiting
std::string_view wordOf(Basis basis);

/// The conclusion of a comparison.
enum class Verdict : std::uint8_t { Inconclusive, NoDifference, Faster, Slower };

std::string_view wordOf(Verdict verdict); ///< inconclusive, no-difference, faster, slower

/// A smaller difference, as a share of A, does not matter.
inline constexpr double kNoDifference = 0.05;
/// The most repeats per side that are asked for.
inline constexpr std::int64_t kMostRepeats = 50;
/// The confidence level of verdicts and intervals. Of runs in turn it is that of all looks together, if the repeats are
/// taken that a comparison asks for: a single look has a higher level.
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
    Basis basis = Basis::Medians;
    double ratio = 1;         ///< B / A of the basis
    BetweenRuns between = {}; ///< of the medians
    double deviation = 0;     ///< as BetweenRuns::deviation, of the basis
    /// The ratios that the runs allow: a difference excludes 1. For runs that were not taken in turn, and whose medians
    /// decide, also those about a second estimate: the ratio without the time that the runs waited for a core, or, where
    /// that is not known and a run was disturbed, the ratio of their quickest steps.
    ConfidenceInterval allowed{1, 1};
    /// 95 % confidence intervals, none if the deviation is not measured; of the difference also none unless medians decide.
    std::optional<ConfidenceInterval> ratio95 = {};
    std::optional<ConfidenceInterval> difference95 = {}; ///< excludes 0 if and only if ratio95 excludes 1
    Verdict verdict = Verdict::Inconclusive;

    bool isDifferent() const { return verdict == Verdict::Faster || verdict == Verdict::Slower; }
    /// The number of runs per side, taken in turn, that would show with a probability of 80 % whether the ratio is beyond
    /// `limit`, if it is what was measured; 5 if the deviation between runs is not measured; none above 50. It is at least
    /// twice the number that was taken in turn, or 50: whoever repeats until there is a verdict looks at most five times.
    std::optional<std::int64_t> repeatsFor(double limit = 1) const;
    /// The number of runs per side that decide, the smaller of two: those that narrow the interval to kNoDifference, and
    /// repeatsFor(). If none does, 50, which show the smallest difference that can be shown; none if 50 were taken in
    /// turn.
    std::optional<std::int64_t> repeatsNeeded() const;
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
/// Of runs that were taken in turn, it is the standard deviation of the logarithms of the ratios within their pairs,
/// divided by the square root of 2: what changes on the machine from pair to pair affects both. Of other repeats it is
/// the pooled standard deviation of the logarithms of their medians, and the sides may be shifted against each other by
/// what changed between them.
///
/// This shift, and the deviation between single runs, have no degrees of freedom. Their lower bound is 5 %, 10 % if a
/// run is disturbed, and 20 to 27 % if its timed steps took less than a second. To these is added, as independent, 0.06
/// times the logarithm of the factor by which waiting for a core made the run longer. Of single
/// runs, the steps yield a further bound: the deviation between the medians of five blocks of consecutive steps, which
/// shows a drift or a change of level. The values are calibrated with the recordings in tests/bench/results/compare.
BetweenRuns betweenRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                        const KnownDeviation& known = {});

/// Compares two sides by the logarithms of the medians of their runs, with Student's t, the deviation between runs and
/// the shift between the sides.
///
/// Other times decide if runs were disturbed. Of runs that were taken in turn, those whose ratios vary least from pair to
/// pair, if clearly less than the ratios of the medians; as they are chosen, their confidence level is higher. Of other
/// runs, if the interval of the medians contains 1, the times without waiting. Of several threads that is the waiting of at
/// least one of them, because the others may wait for it, or, where it is not known, the quickest steps decide.
/// \return  none if a side has no timed step
/// O(steps).
std::optional<TimeDifference> compareRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                                          const KnownDeviation& known = {});

/// The verdict and its figures in one sentence.
std::string sentenceOf(const TimeDifference& difference);

/// How to decide: measure both in turn, so often.
std::string measureInTurn(std::int64_t repeats);

/// Why there is no interval; empty if there is one.
std::string whyNoInterval(const TimeDifference& difference);

} // namespace tilescope::analysis
