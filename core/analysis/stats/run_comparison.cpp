#include "core/analysis/stats/run_comparison.h"

#include "core/analysis/stats/statistics.h"
#include "core/analysis/stats/student_t.h"
#include "core/base/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kBlocks = 5;
constexpr std::size_t kFewestSteps = 3; // fewer steps do not show their spread

// Least deviations between single runs; calibrated with recorded runs (tests/bench/compare).
constexpr double kLeastQuiet = 0.05;
constexpr double kLeastDisturbed = 0.10;
constexpr double kLeastShort = 0.20;
constexpr double kShortMs = 1000;
constexpr double kSpreadUnknown = 0.5;
constexpr double kDegreesOfSteps = 2;

// Smaller deviations between repeats are due to the resolution of the clock.
constexpr double kLeastMeasured = 0.0005;
constexpr double kKnownForCertain = 1e6;
constexpr std::int64_t kMostRepeats = 50;

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

/// Standard deviation of the logarithms of the medians of blocks of consecutive steps.
double deviationOfBlocks(std::span<const double> times)
{
    const std::size_t n = times.size();
    if (n < kFewestSteps)
        return kSpreadUnknown;
    const std::size_t blocks = n < 2 * kBlocks ? n : kBlocks;
    std::vector<double> logs;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t begin = block * n / blocks;
        const std::size_t end = (block + 1) * n / blocks;
        logs.push_back(std::log(median(times.subspan(begin, end - begin))));
    }
    return std::sqrt(sumOfSquares(logs) / static_cast<double>(blocks - 1));
}

/// The lower bound of the deviation between runs like this one.
double leastDeviationOf(const TimedRun& run)
{
    // Disturbances of a few seconds affect a shorter run completely or not at all.
    if (std::accumulate(run.times.begin(), run.times.end(), 0.0) < kShortMs)
        return kLeastShort;
    return run.disturbed ? kLeastDisturbed : kLeastQuiet;
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

template <class... Values> std::string format(const char* pattern, Values... values)
{
    std::array<char, 300> text{};
    std::snprintf(text.data(), text.size(), pattern, values...);
    return text.data();
}

std::string runsText(const TimeDifference& difference)
{
    if (difference.runsA == 1 && difference.runsB == 1)
        return "one run of each";
    return std::to_string(difference.runsA) + (difference.runsA == 1 ? " run and " : " runs and ") +
           std::to_string(difference.runsB);
}

/// B / A = 1.041 (95 % interval 0.960 to 1.130; 5 runs and 5)
std::string ratioText(const TimeDifference& difference)
{
    if (!difference.ratio95)
        return format("B / A = %.3f (%s)", difference.ratio, runsText(difference).c_str());
    return format("B / A = %.3f (95 %% interval %.3f to %.3f; %s)", difference.ratio, difference.ratio95->low,
                  difference.ratio95->high, runsText(difference).c_str());
}

Verdict verdictOf(const TimeDifference& difference)
{
    if (difference.ratio > difference.reach)
        return Verdict::Slower;
    if (difference.ratio * difference.reach < 1)
        return Verdict::Faster;
    const auto& interval = difference.ratio95;
    if (interval && interval->low >= 1 / (1 + kNoDifference) && interval->high <= 1 + kNoDifference)
        return Verdict::NoDifference;
    return Verdict::Inconclusive;
}

} // namespace

std::string_view wordOf(Verdict verdict)
{
    static constexpr std::array<std::string_view, 4> words{"inconclusive", "no-difference", "faster",
                                                           "slower"};
    return words[static_cast<std::size_t>(verdict)];
}

BetweenRuns betweenRuns(std::span<const TimedRun> a, std::span<const TimedRun> b, const KnownDeviation& known)
{
    using Source = BetweenRuns::Source;
    if (known.given)
        return {.deviation = *known.given, .degrees = kKnownForCertain, .source = Source::Given};
    double squares = 0;
    double degrees = 0;
    BetweenRuns between;
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
    if (degrees >= 1) {
        between.deviation = std::max(kLeastMeasured, std::sqrt(squares / degrees));
        between.degrees = degrees;
        between.source = Source::Repeats;
        return between;
    }
    between.deviation = known.ofStep;
    for (const std::span<const TimedRun> side : {a, b})
        for (const TimedRun& run : side)
            between.deviation =
                std::max({between.deviation, leastDeviationOf(run), deviationOfBlocks(run.times)});
    between.degrees = kDegreesOfSteps;
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
    double half =
        studentCritical(1 - kConfidence, result.between.degrees) * result.between.deviation *
        std::sqrt(1.0 / static_cast<double>(logsA.size()) + 1.0 / static_cast<double>(logsB.size()));
    if (result.runsA == 1 && result.runsB == 1 && !known.given)
        half = std::max(half, reachOfPairs(known).value_or(0));
    result.reach = std::exp(half);
    if (result.between.isMeasured()) {
        result.ratio95 = {result.ratio / result.reach, result.ratio * result.reach};
        // B - A = 2 level sinh(log(B / A) / 2), with the geometric mean of A and B as level: the interval of
        // the ratio, scaled to this level.
        const double level = std::sqrt(result.medianA * result.medianB);
        result.difference95 = {2 * level * std::sinh((logRatio - half) / 2),
                               2 * level * std::sinh((logRatio + half) / 2)};
    }
    result.verdict = verdictOf(result);
    return result;
}

std::optional<std::int64_t> TimeDifference::repeatsNeeded() const
{
    return repeatsFor(std::log(1 + kNoDifference));
}

std::optional<std::int64_t> TimeDifference::repeatsFor(double half) const
{
    constexpr std::int64_t kFewest = 5;
    if (!between.isMeasured())
        return kFewest;
    for (std::int64_t runs = kFewest; runs <= kMostRepeats; ++runs) {
        const auto n = static_cast<double>(runs);
        if (runs > std::min(runsA, runsB) &&
            studentCritical(1 - kConfidence, 2 * n - 2) * between.deviation * std::sqrt(2 / n) <= half)
            return runs;
    }
    return {};
}

std::string sentenceOf(const TimeDifference& difference)
{
    const auto percent = [](double ratio) { return 100 * std::abs(ratio - 1); };
    switch (difference.verdict) {
    case Verdict::Faster:
    case Verdict::Slower: {
        std::string sentence =
            format("A step of B takes %.1f %% %s than one of A: %s", percent(difference.ratio),
                   difference.verdict == Verdict::Slower ? "longer" : "less", ratioText(difference).c_str());
        if (!difference.ratio95)
            sentence += format(", beyond the %.0f %% by which single runs such as these may differ",
                               percent(difference.reach));
        return sentence + ".";
    }
    case Verdict::NoDifference:
        return format("No difference in the step time beyond %.0f %%: %s.", 100 * kNoDifference,
                      ratioText(difference).c_str());
    case Verdict::Inconclusive:
        break;
    }
    if (!difference.between.isMeasured())
        return "Inconclusive: one run of each. Repeat both 5 times to decide.";
    if (const auto repeats = difference.repeatsNeeded())
        return format("Inconclusive: %s. Repeat both %lld times to decide.", ratioText(difference).c_str(),
                      static_cast<long long>(*repeats));
    return format("Inconclusive: %s. Runs differ by %s %%: compare on a quieter machine.",
                  ratioText(difference).c_str(),
                  quantity::threeDigits(100 * difference.between.deviation).c_str());
}

std::string whyNoInterval(const TimeDifference& difference)
{
    return difference.ratio95 ? std::string() : "one run of each: how much runs differ is not measured";
}

} // namespace tilescope::analysis
