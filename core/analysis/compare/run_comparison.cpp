#include "core/analysis/compare/run_comparison.h"

#include "core/analysis/compare/several_threads.h"
#include "core/analysis/stats/statistics.h"
#include "core/analysis/stats/student_t.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kBlocks = 5;
constexpr std::size_t kFewestSteps = 3; // fewer steps do not show their spread

// Least deviations between single runs, and between sides that were taken at different times; calibrated with recorded
// runs (tests/bench/compare). A factor of 3 is beyond each but that of a loaded host.
constexpr double kLeastQuiet = 0.05;
constexpr double kLeastDisturbed = 0.10;
constexpr double kLeastLoadedSingle = 0.52;
constexpr double kLeastLoaded = 0.36;
constexpr double kLeastShort = 0.20;
constexpr double kShortMs = 1000;
constexpr double kPerWaiting = 0.06;
// The threads of a recorded program: where they wait for each other, one without a core can hold up all in every step of a
// run, or in none.
constexpr double kPerWaitingOfSeveral = 0.20;
constexpr double kPerWaitingOfSeveralSingle = 0.50;
constexpr double kSpreadUnknown = 0.24;
constexpr double kDegreesOfSteps = 8;
constexpr double kVeryShortMs = 150;
constexpr double kLeastVeryShort = 0.2434;
constexpr double kLeastMomentary = 0.2734;
constexpr double kMomentaryMs = 30;
constexpr double kUnnoticedMs = 100; // the host is not judged in shorter runs
constexpr double kDegreesOfMomentary = 3;
constexpr double kHardlyWaiting = 0.01;
constexpr std::int64_t kEnoughForMoments = 5; // repeats
constexpr double kQuickSteps = 0.1;           // quantile of the quickest steps
// Least shifts between the quickest steps without waiting of disturbed sides that were not taken in turn: of single runs,
// and of repeats, which show by their spread how they deviate.
constexpr double kLeastQuickShiftOfSingle = 0.25;
constexpr double kLeastQuickShift = 0.15;
// The same of single runs between steps without the waiting of several threads; to it is added this part of what waiting
// made of the run, divided by the root of its seconds: a short run sees few states of the load.
constexpr double kLeastShiftOfSeveral = 0.24;
constexpr double kPerWaitingInASecond = 0.12;
// A thread that has a core keeps it for about this long. What steps below it lose is not in proportion to the waiting.
constexpr double kTimeSliceMs = 3;
constexpr double kLeastTogether = 1e-6;

// The level of intervals of runs that were taken in turn. Whoever takes the repeats that are asked for looks up to five
// times, and each look may err: together the intervals contain the ratio in 95 % of cases (tests/bench/compare).
constexpr double kConfidenceInTurn = 0.987;
constexpr std::int64_t kGrowthOfRepeats = 2; ///< from one look to the next

// Of disturbed runs that were taken in turn: times are preferred to the medians if they deviate by so much less, and their
// interval has this level, because the least of several deviations is too small on average.
constexpr double kClearlyLess = 0.7;
constexpr double kConfidenceOfChosen = 0.992;

// Smaller deviations between repeats are due to the resolution of the clock.
constexpr double kLeastMeasured = 0.0005;
constexpr double kKnownForCertain = 1e6;

double sumOfSquares(std::span<const double> values)
{
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return squares;
}

/// Logarithms of the medians of runs with steps.
std::vector<double> logMedians(std::span<const TimedRun> runs)
{
    std::vector<double> logs;
    for (const TimedRun& run : runs)
        if (!run.times.empty())
            logs.push_back(std::log(median(run.times)));
    return logs;
}

std::int64_t stepsOf(std::span<const TimedRun> runs)
{
    std::int64_t steps = 0;
    for (const TimedRun& run : runs)
        steps += static_cast<std::int64_t>(run.times.size());
    return steps;
}

/// Standard deviation of the logarithms of the medians of blocks of consecutive steps. Blocks of an undisturbed run
/// have at least four steps, so that a single slow one does not matter.
double deviationOfBlocks(const TimedRun& run)
{
    const std::span<const double> times = run.times;
    const std::size_t n = times.size();
    if (n < kFewestSteps)
        return kSpreadUnknown;
    const std::size_t least = run.disturbed ? 2 : 4;
    const std::size_t blocks = n < 2 * least ? n : std::min(kBlocks, n / least);
    std::vector<double> logs;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t begin = block * n / blocks;
        const std::size_t end = (block + 1) * n / blocks;
        logs.push_back(std::log(median(times.subspan(begin, end - begin))));
    }
    return std::sqrt(sumOfSquares(logs) / static_cast<double>(blocks - 1));
}

double durationOf(const TimedRun& run)
{
    return std::accumulate(run.times.begin(), run.times.end(), 0.0);
}

double logOfLost(std::optional<double> share)
{
    constexpr double kMostWaiting = 0.995;
    return -std::log(1 - std::clamp(share.value_or(0), 0.0, kMostWaiting));
}

/// The logarithm of the factor by which waiting for a core made a run longer; 0 if it is not known.
double logOfWaiting(const TimedRun& run)
{
    return logOfLost(run.waiting);
}

/// The same if its threads wait for each other: none goes on while one of them waits.
double logOfSomeWaiting(const TimedRun& run)
{
    return logOfLost(run.someWaiting);
}

bool hasSeveralThreads(const TimedRun& run)
{
    return run.threads > 1 || run.threads == kSeveralThreads;
}

/// Like std::hypot(), whose newest version would need glibc 2.35.
double rootOfSquares(double a, double b)
{
    return std::sqrt(a * a + b * b);
}

/// Whether the waiting for a core explains what affects a short run for a moment: that of the only thread, or that there
/// was none.
bool knowsItsMoments(const TimedRun& run)
{
    return run.threads > 0 && run.waiting && (run.threads == 1 || *run.waiting < kHardlyWaiting);
}

/// Whether a disturbance can affect the run completely, and be too short to be noticed.
bool isMomentary(const TimedRun& run)
{
    const double duration = durationOf(run);
    return !knowsItsMoments(run) && (duration < kUnnoticedMs || (duration < kVeryShortMs && run.disturbed));
}

/// The lower bound of the deviation between runs like this one.
/// \param showMoments  there are enough repeats to show by their spread what affects a run only for a moment, or which
///                     load there was
/// \param ofSeveral    times that contain what several threads of a recorded program lose by waiting
double leastDeviationOf(const TimedRun& run, bool showMoments, bool ofSeveral)
{
    // Disturbances of a few seconds affect a shorter run completely or not at all.
    const double duration = durationOf(run);
    const bool hidesMoments = !showMoments && !knowsItsMoments(run);
    const double least = duration < kMomentaryMs && hidesMoments   ? kLeastMomentary
                         : duration < kVeryShortMs && hidesMoments ? kLeastVeryShort
                         : duration < kShortMs                     ? kLeastShort
                         : run.disturbed                           ? kLeastDisturbed
                                                                   : kLeastQuiet;
    if (run.hostWasLoaded && !run.waiting)
        return showMoments ? kLeastLoaded : kLeastLoadedSingle;
    const double perWaiting = run.threads != kSeveralThreads || !ofSeveral ? kPerWaiting
                              : showMoments                                ? kPerWaitingOfSeveral
                                                                           : kPerWaitingOfSeveralSingle;
    return rootOfSquares(least, perWaiting * logOfWaiting(run));
}

std::int64_t countOf(std::span<const TimedRun> runs)
{
    return std::ranges::count_if(runs, [](const TimedRun& run) { return !run.times.empty(); });
}

/// The deviation between sides that were not taken in turn, and its degrees of freedom.
void addShift(BetweenRuns& between, std::span<const TimedRun> a, std::span<const TimedRun> b,
              bool ofSeveral = true)
{
    between.shiftDegrees = kDegreesOfSteps;
    const bool showMoments = countOf(a) >= kEnoughForMoments && countOf(b) >= kEnoughForMoments;
    for (const std::span<const TimedRun> side : {a, b})
        for (const TimedRun& run : side) {
            if (run.times.empty())
                continue;
            between.shift = std::max(between.shift, leastDeviationOf(run, showMoments, ofSeveral));
            if (!showMoments && isMomentary(run))
                between.shiftDegrees = kDegreesOfMomentary;
        }
}

/// Pairs of runs that were taken in turn, in their order; empty if they were not.
std::vector<std::pair<const TimedRun*, const TimedRun*>> pairsInTurn(std::span<const TimedRun> a,
                                                                     std::span<const TimedRun> b)
{
    struct Taken {
        const TimedRun* run;
        bool isB;
    };
    std::vector<Taken> order;
    std::array<std::int64_t, 2> counts{};
    for (const bool isB : {false, true})
        for (const TimedRun& run : isB ? b : a) {
            if (run.times.empty())
                continue;
            if (run.started == 0)
                return {};
            order.push_back({&run, isB});
            ++counts[isB ? 1 : 0];
        }
    if (std::abs(counts[0] - counts[1]) > 1)
        return {};
    std::stable_sort(order.begin(), order.end(),
                     [](const Taken& x, const Taken& y) { return x.run->started < y.run->started; });
    std::vector<std::pair<const TimedRun*, const TimedRun*>> pairs;
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
        const Taken& first = order[i];
        const Taken& second = order[i + 1];
        if (first.isB == second.isB)
            return {};
        pairs.emplace_back(first.isB ? second.run : first.run, first.isB ? first.run : second.run);
    }
    if (pairs.size() < 2)
        pairs.clear();
    return pairs;
}

double logMedian(const TimedRun& run)
{
    return std::log(median(run.times));
}

/// The quickest steps of all runs of a side, as the logarithm of a time.
double logOfQuickSteps(std::span<const TimedRun> runs)
{
    std::vector<double> times;
    for (const TimedRun& run : runs)
        times.insert(times.end(), run.times.begin(), run.times.end());
    std::sort(times.begin(), times.end());
    return std::log(quantile(times, kQuickSteps));
}

/// A value of each run with steps; none if one of these runs does not know how long it waited.
template <class Value>
std::optional<std::vector<double>> ofRunsWithWaiting(std::span<const TimedRun> runs, Value value)
{
    std::vector<double> values;
    for (const TimedRun& run : runs) {
        if (run.times.empty())
            continue;
        if (!run.waiting)
            return {};
        values.push_back(value(run));
    }
    return values;
}

/// The least shift between single runs of several threads, in steps without their waiting.
double shiftOfSeveral(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    double most = 0;
    for (const std::span<const TimedRun> side : {a, b})
        for (const TimedRun& run : side)
            if (!run.times.empty())
                most = std::max(most, logOfSomeWaiting(run) / std::sqrt(durationOf(run) / 1000));
    return rootOfSquares(kLeastShiftOfSeveral, kPerWaitingInASecond * most);
}

/// The logarithm of the factor by which the steps of a run of several threads may be shorter than without the known
/// waiting: if the threads waited at different times, they had cores together for less than the product of their shares.
double logOfHiddenWaiting(const TimedRun& run)
{
    if (!hasSeveralThreads(run) || !run.waiting)
        return 0;
    constexpr int kUnknownThreads = 8;
    const int threads = run.threads > 0 ? run.threads : kUnknownThreads;
    const double known = run.someWaiting ? logOfSomeWaiting(run) : threads * logOfWaiting(run);
    return -std::log(std::max(kLeastTogether, 1 - known)) - known;
}

/// The same of the run that may hide most, if steps of either side are shorter than a time slice: those of the other side
/// may be as short, and wait for whole slices.
double mostHiddenWaiting(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    if (std::exp(std::min(logOfQuickSteps(a), logOfQuickSteps(b))) >= kTimeSliceMs)
        return 0;
    double most = 0;
    for (const std::span<const TimedRun> side : {a, b})
        for (const TimedRun& run : side)
            if (!run.times.empty())
                most = std::max(most, logOfHiddenWaiting(run));
    return most;
}

/// The mean logarithm of the factor by which waiting made the runs with steps longer; none if one does not know it.
std::optional<double> meanWaiting(std::span<const TimedRun> runs)
{
    const auto logs = ofRunsWithWaiting(runs, [](const TimedRun& run) {
        return hasSeveralThreads(run) && run.someWaiting ? logOfSomeWaiting(run) : logOfWaiting(run);
    });
    return logs ? std::optional(meanOf(*logs)) : std::nullopt;
}

bool isAnyDisturbed(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    return std::ranges::any_of(a, &TimedRun::disturbed) || std::ranges::any_of(b, &TimedRun::disturbed);
}

/// A second estimate of the logarithm of the ratio of runs that were not taken in turn, less affected by a host that
/// was busier for one side: what the steps would take without waiting for a core, or, where that is not known, the
/// ratio of the quickest steps. The ratio itself if nothing was disturbed.
double logOfUndisturbedRatio(std::span<const TimedRun> a, std::span<const TimedRun> b, double logRatio)
{
    const auto waitingA = meanWaiting(a);
    const auto waitingB = meanWaiting(b);
    if (waitingA && waitingB)
        return logRatio - (*waitingB - *waitingA);
    return isAnyDisturbed(a, b) ? logOfQuickSteps(b) - logOfQuickSteps(a) : logRatio;
}

/// The logarithm of the mean step of a run without the time in which it waited for a core. The waiting is that of all
/// timed steps together, so that it is taken off their sum.
double logWithoutWaiting(const TimedRun& run)
{
    return std::log(meanOf(run.times)) - logOfWaiting(run);
}

double logOfQuickStep(const TimedRun& run)
{
    return logOfQuickSteps(std::span(&run, 1));
}

/// Threads that wait for each other lose more than the time that one of them waited for a core, but little of it in the
/// quickest steps.
double logOfQuickStepWithoutWaiting(const TimedRun& run)
{
    return logOfQuickStep(run) - logOfWaiting(run);
}

/// The time of a step of several threads without their waiting is between two estimates, and this is their middle. The mean
/// step without the time in which one of them waited is too long if they shared a core: none of them waited for longer, but
/// they never ran together. The quickest steps without the waiting of one are too short: they hardly waited.
double logOfSeveralWithoutWaiting(const TimedRun& run)
{
    return (std::log(meanOf(run.times)) - logOfSomeWaiting(run) + logOfQuickStepWithoutWaiting(run)) / 2;
}

/// The logarithms of a time of each run with steps.
template <class Value> std::vector<double> logsOf(std::span<const TimedRun> runs, Value value)
{
    std::vector<double> logs;
    for (const TimedRun& run : runs)
        if (!run.times.empty())
            logs.push_back(value(run));
    return logs;
}

/// A ratio of two sides, as a logarithm, with half its interval.
struct LogRatio {
    Basis basis = Basis::Medians;
    double middle = 0;
    double half = 0;
    double deviation = 0; ///< between runs

    bool excludesOne() const { return std::abs(middle) > half; }
};

bool knowWaiting(std::span<const TimedRun> runs)
{
    return std::ranges::all_of(runs, [](const TimedRun& run) { return run.times.empty() || run.waiting; });
}

/// Whether all are runs of several threads that know how long one of these waited.
bool knowSomeWaiting(std::span<const TimedRun> runs)
{
    return std::ranges::all_of(runs, [](const TimedRun& run) {
        return run.times.empty() || (hasSeveralThreads(run) && run.someWaiting);
    });
}

/// Half the interval of sides that were taken at different times: the shift between them, independent of the deviation
/// between their runs.
double halfInterval(const BetweenRuns& between, double deviation, double degrees, std::size_t runsA,
                    std::size_t runsB)
{
    const double confidence = between.inTurn ? kConfidenceInTurn : kConfidence;
    const double ofRuns = studentCritical(1 - confidence, degrees) * deviation *
                          std::sqrt(1.0 / static_cast<double>(runsA) + 1.0 / static_cast<double>(runsB));
    const double ofShift =
        studentCritical(1 - kConfidence, between.shiftDegrees) * between.shift * std::numbers::sqrt2;
    return rootOfSquares(ofRuns, ofShift);
}

/// The ratio of times of runs that were not taken in turn, with the deviation between the runs that these times have.
/// \param ofSeveral  as for leastDeviationOf()
template <class Value>
LogRatio ratioOf(std::span<const TimedRun> a, std::span<const TimedRun> b, Basis basis, Value value,
                 double leastShift, bool ofSeveral = true)
{
    const std::vector<double> logsA = logsOf(a, value);
    const std::vector<double> logsB = logsOf(b, value);
    BetweenRuns between;
    addShift(between, a, b, ofSeveral);
    between.shift = std::max(between.shift, leastShift);
    const auto degrees = static_cast<double>(logsA.size() + logsB.size() - 2);
    const double deviation =
        degrees > 0
            ? std::max(kLeastMeasured, std::sqrt((sumOfSquares(logsA) + sumOfSquares(logsB)) / degrees))
            : 0;
    return {.basis = basis,
            .middle = meanOf(logsB) - meanOf(logsA),
            .half = halfInterval(between, deviation, std::max(1.0, degrees), logsA.size(), logsB.size()),
            .deviation = deviation};
}

/// What decides runs that were not taken in turn if their medians do not; none if they do not show it.
std::optional<LogRatio> ratioOfDisturbed(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    const auto hasOneThread = [](std::span<const TimedRun> runs) {
        return std::ranges::all_of(runs, [](const TimedRun& run) { return run.threads == 1; });
    };
    if (!knowWaiting(a) || !knowWaiting(b))
        return {};
    if (hasOneThread(a) && hasOneThread(b))
        return ratioOf(a, b, Basis::WithoutWaiting, logWithoutWaiting, 0);
    if (!isAnyDisturbed(a, b))
        return {};
    const bool areRepeats = countOf(a) >= kEnoughForMoments && countOf(b) >= kEnoughForMoments;
    if (knowSomeWaiting(a) && knowSomeWaiting(b))
        return ratioOf(a, b, Basis::WithoutWaiting, logOfSeveralWithoutWaiting,
                       areRepeats ? 0 : shiftOfSeveral(a, b), /*ofSeveral=*/false);
    return ratioOf(a, b, Basis::QuickStepsWithoutWaiting, logOfQuickStepWithoutWaiting,
                   areRepeats ? kLeastQuickShift : kLeastQuickShiftOfSingle);
}

/// Which times decide runs that were taken in turn.
LogRatio ratioInTurn(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    const auto pairs = pairsInTurn(a, b);
    const auto degrees = static_cast<double>(pairs.size() - 1);
    const auto ratioOfPairs = [&](Basis basis, double confidence, auto value) {
        std::vector<double> ratios;
        for (const auto& [runA, runB] : pairs)
            ratios.push_back(value(*runB) - value(*runA));
        const double deviation = std::max(kLeastMeasured, std::sqrt(sumOfSquares(ratios) / degrees / 2));
        return LogRatio{.basis = basis,
                        .middle = meanOf(ratios),
                        .half = studentCritical(1 - confidence, degrees) * deviation *
                                std::sqrt(2.0 / static_cast<double>(pairs.size())),
                        .deviation = deviation};
    };
    const LogRatio medians = ratioOfPairs(Basis::Medians, kConfidenceInTurn, logMedian);
    if (!isAnyDisturbed(a, b))
        return medians;
    LogRatio best = ratioOfPairs(Basis::QuickSteps, kConfidenceOfChosen, logOfQuickStep);
    if (knowWaiting(a) && knowWaiting(b))
        if (const LogRatio without = ratioOfPairs(
                Basis::WithoutWaiting, kConfidenceOfChosen,
                knowSomeWaiting(a) && knowSomeWaiting(b) ? logOfSeveralWithoutWaiting : logWithoutWaiting);
            without.deviation < best.deviation)
            best = without;
    return best.deviation < kClearlyLess * medians.deviation ? best : medians;
}

/// The absolute log ratio that 2.5 % of the pairs of repeats of one spec exceed; none with fewer than ten
/// repeats. Runs that form a fast and a slow group deviate more than Student's t predicts.
std::optional<double> reachOfPairs(const KnownDeviation& known)
{
    constexpr std::size_t kEnough = 10;
    constexpr std::size_t kMost = 500; // limits the quadratic number of pairs
    std::vector<double> differences;
    for (const std::vector<double>& group : known.repeats) {
        if (group.size() < kEnough)
            continue;
        for (std::size_t i = 0; i < std::min(kMost, group.size()); ++i)
            for (std::size_t j = 0; j < i; ++j)
                differences.push_back(std::abs(std::log(group[i] / group[j])));
    }
    if (differences.empty())
        return {};
    std::sort(differences.begin(), differences.end());
    return quantile(differences, 0.975);
}

Verdict verdictOf(const TimeDifference& difference)
{
    if (difference.allowed.low > 1)
        return Verdict::Slower;
    if (difference.allowed.high < 1)
        return Verdict::Faster;
    const auto& interval = difference.ratio95;
    if (interval && interval->low >= 1 / (1 + kNoDifference) && interval->high <= 1 + kNoDifference)
        return Verdict::NoDifference;
    return Verdict::Inconclusive;
}

/// The level of the interval of repeats in turn.
double confidenceOf(const TimeDifference& difference)
{
    return difference.basis == Basis::Medians ? kConfidenceInTurn : kConfidenceOfChosen;
}

/// The repeats in turn that are there; 0 if the runs were not taken in turn.
std::int64_t takenInTurn(const TimeDifference& difference)
{
    return difference.between.inTurn ? std::min(difference.runsA, difference.runsB) : 0;
}

/// The fewest repeats per side, taken in turn, that are `enough` for the degrees of freedom and the standard error of the
/// logarithm of the ratio. They are twice as many as were taken in turn, or the most, so that there are few looks.
template <class Enough>
std::optional<std::int64_t> fewestRepeats(const TimeDifference& difference, const Enough& enough)
{
    constexpr std::int64_t kFewest = 5;
    if (!difference.between.isMeasured())
        return kFewest;
    const std::int64_t taken = takenInTurn(difference);
    if (taken >= kMostRepeats)
        return {};
    const std::int64_t fewest = std::min(std::max(kFewest, kGrowthOfRepeats * taken), kMostRepeats);
    for (std::int64_t runs = fewest; runs <= kMostRepeats; ++runs) {
        const auto n = static_cast<double>(runs);
        if (enough(n - 1, difference.deviation * std::sqrt(2 / n)))
            return runs;
    }
    return {};
}

} // namespace

bool areInTurn(std::span<const TimedRun> a, std::span<const TimedRun> b)
{
    return !pairsInTurn(a, b).empty();
}

BetweenRuns betweenRuns(std::span<const TimedRun> a, std::span<const TimedRun> b, const KnownDeviation& known)
{
    using Source = BetweenRuns::Source;
    if (known.given)
        return {.deviation = *known.given, .degrees = kKnownForCertain, .source = Source::Given};
    BetweenRuns between;
    if (const auto pairs = pairsInTurn(a, b); !pairs.empty()) {
        std::vector<double> ratios;
        for (const auto& [runA, runB] : pairs)
            ratios.push_back(logMedian(*runB) - logMedian(*runA));
        between.degrees = static_cast<double>(ratios.size() - 1);
        between.deviation = std::max(kLeastMeasured, std::sqrt(sumOfSquares(ratios) / between.degrees / 2));
        between.runs = static_cast<std::int64_t>(2 * ratios.size());
        between.source = Source::Repeats;
        between.inTurn = true;
        return between;
    }
    double squares = 0;
    double degrees = 0;
    const auto learnFrom = [&](std::span<const double> logs) {
        if (logs.size() < 2)
            return;
        squares += sumOfSquares(logs);
        degrees += static_cast<double>(logs.size() - 1);
        between.runs += static_cast<std::int64_t>(logs.size());
    };
    learnFrom(logMedians(a));
    learnFrom(logMedians(b));
    for (const std::vector<double>& group : known.repeats) {
        std::vector<double> logs;
        for (const double value : group)
            logs.push_back(std::log(value));
        learnFrom(logs);
    }
    addShift(between, a, b);
    if (degrees >= 1) {
        between.deviation = std::max(kLeastMeasured, std::sqrt(squares / degrees));
        between.degrees = degrees;
        between.source = Source::Repeats;
        return between;
    }
    // Single runs: one estimate for both, the deviation between runs and the shift.
    between.deviation = std::max(known.ofStep, std::exchange(between.shift, 0));
    for (const std::span<const TimedRun> side : {a, b})
        for (const TimedRun& run : side)
            between.deviation = std::max(between.deviation, deviationOfBlocks(run));
    between.degrees = between.shiftDegrees;
    return between;
}

std::optional<TimeDifference> compareRuns(std::span<const TimedRun> a, std::span<const TimedRun> b,
                                          const KnownDeviation& known)
{
    const std::vector<double> logsA = logMedians(a);
    const std::vector<double> logsB = logMedians(b);
    if (logsA.empty() || logsB.empty())
        return {};
    const double logRatio = meanOf(logsB) - meanOf(logsA);
    TimeDifference result{.runsA = static_cast<std::int64_t>(logsA.size()),
                          .runsB = static_cast<std::int64_t>(logsB.size()),
                          .stepsA = stepsOf(a),
                          .stepsB = stepsOf(b),
                          .medianA = std::exp(meanOf(logsA)),
                          .medianB = std::exp(meanOf(logsB)),
                          .between = betweenRuns(a, b, known)};
    result.difference = result.medianB - result.medianA;
    result.ratio = result.medianB / result.medianA;
    double half = halfInterval(result.between, result.between.deviation, result.between.degrees, logsA.size(),
                               logsB.size());
    if (result.runsA == 1 && result.runsB == 1 && !known.given)
        half = std::max(half, reachOfPairs(known).value_or(0));
    const bool mayDiffer = !result.between.inTurn && !known.given;
    const double undisturbed = mayDiffer ? logOfUndisturbedRatio(a, b, logRatio) : logRatio;
    const double hidden = mayDiffer ? mostHiddenWaiting(a, b) : 0;
    half += hidden;
    double low = std::min(logRatio, undisturbed) - half;
    double high = std::max(logRatio, undisturbed) + half;
    result.deviation = result.between.deviation;
    const auto decideBy = [&](const LogRatio& ratio) {
        result.basis = ratio.basis;
        result.ratio = std::exp(ratio.middle);
        result.deviation = ratio.deviation;
        low = ratio.middle - ratio.half;
        high = ratio.middle + ratio.half;
    };
    if (result.between.inTurn) {
        if (const LogRatio chosen = ratioInTurn(a, b); chosen.basis != Basis::Medians)
            decideBy(chosen);
    } else if (mayDiffer && low <= 0 && high >= 0) {
        if (auto ratio = ratioOfDisturbed(a, b)) {
            ratio->half += hidden;
            if (ratio->excludesOne())
                decideBy(*ratio);
        }
    }
    result.allowed = {std::exp(low), std::exp(high)};
    if (result.between.isMeasured()) {
        result.ratio95 = result.allowed;
        // B - A = 2 level sinh(log(B / A) / 2), with the geometric mean of A and B as level: the interval of
        // the ratio, scaled to this level.
        const double level = std::sqrt(result.medianA * result.medianB);
        if (result.basis == Basis::Medians)
            result.difference95 = {2 * level * std::sinh(low / 2), 2 * level * std::sinh(high / 2)};
    }
    result.verdict = verdictOf(result);
    return result;
}

std::optional<std::int64_t> TimeDifference::repeatsFor(double limit) const
{
    constexpr double kPower = 0.8;
    const double distance = std::abs(std::log(ratio / limit));
    return fewestRepeats(*this, [&](double degrees, double error) {
        // The quantile for the power is one-sided: studentCritical() is of both sides.
        return (studentCritical(1 - confidenceOf(*this), degrees) +
                studentCritical(2 * (1 - kPower), degrees)) *
                   error <=
               distance;
    });
}

std::optional<std::int64_t> TimeDifference::repeatsNeeded() const
{
    const auto narrow = fewestRepeats(*this, [this](double degrees, double error) {
        return studentCritical(1 - confidenceOf(*this), degrees) * error <= std::log(1 + kNoDifference);
    });
    const auto shown = repeatsFor();
    if (narrow || shown)
        return std::min(narrow.value_or(kMostRepeats), shown.value_or(kMostRepeats));
    return takenInTurn(*this) < kMostRepeats ? std::optional(kMostRepeats) : std::nullopt;
}

} // namespace tilescope::analysis
