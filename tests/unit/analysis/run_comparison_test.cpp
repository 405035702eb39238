#include "core/analysis/stats/run_comparison.h"

#include "core/analysis/stats/random.h"
#include "core/analysis/stats/student_t.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

using ::testing::HasSubstr;
using Source = BetweenRuns::Source;

namespace {

/// A run of ten steps about `median`, which deviate by `noise` from step to step.
TimedRun runOf(double median, double noise = 0.001)
{
    TimedRun run;
    for (int i = 0; i < 10; ++i)
        run.times.push_back(median * (1 + noise * ((i * 7 % 10) - 4.5) / 4.5));
    return run;
}

std::vector<TimedRun> runsOf(std::initializer_list<double> medians)
{
    std::vector<TimedRun> runs;
    for (const double median : medians)
        runs.push_back({.times = {median, median, median}});
    return runs;
}

/// Repeats whose medians have the deviation `deviation`.
std::vector<TimedRun> repeats(Random& random, int runs, double deviation, double factor = 1)
{
    std::vector<TimedRun> list;
    for (int i = 0; i < runs; ++i)
        list.push_back({.times = {factor * std::exp(deviation * random.normal())}});
    return list;
}

TimeDifference difference(const std::vector<TimedRun>& a, const std::vector<TimedRun>& b,
                          const KnownDeviation& known = {})
{
    return compareRuns(a, b, known).value();
}

/// Verdict, interval and sentence of one comparison agree.
void expectOneRule(const TimeDifference& d)
{
    const std::string sentence = sentenceOf(d);
    EXPECT_EQ(sentence.starts_with("Inconclusive: "), d.verdict == Verdict::Inconclusive) << sentence;
    EXPECT_EQ(sentence.starts_with("No difference"), d.verdict == Verdict::NoDifference) << sentence;
    EXPECT_EQ(d.ratio95.has_value(), d.difference95.has_value());
    EXPECT_EQ(whyNoInterval(d).empty(), d.ratio95.has_value());
    EXPECT_NEAR(d.difference, d.medianB - d.medianA, 1e-12 * d.medianA);
    EXPECT_NEAR(d.ratio, d.medianB / d.medianA, 1e-12);
    if (!d.ratio95)
        return;
    EXPECT_EQ(d.verdict == Verdict::Slower, d.ratio95->low > 1) << sentence;
    EXPECT_EQ(d.verdict == Verdict::Faster, d.ratio95->high < 1) << sentence;
    EXPECT_EQ(d.difference95->low > 0, d.ratio95->low > 1) << sentence;
    EXPECT_EQ(d.difference95->high < 0, d.ratio95->high < 1) << sentence;
    EXPECT_LE(d.difference95->low, d.difference);
    EXPECT_GE(d.difference95->high, d.difference);
}

} // namespace

TEST(CompareRuns, OneRunOfEachIsInconclusiveUnlessTheyAreFarApart)
{
    const TimeDifference close = difference({runOf(1000)}, {runOf(1100)});
    EXPECT_EQ(close.verdict, Verdict::Inconclusive);
    EXPECT_EQ(sentenceOf(close), "Inconclusive: one run of each. Repeat both 5 times to decide.");
    EXPECT_FALSE(close.ratio95);
    EXPECT_EQ(whyNoInterval(close), "one run of each: how much runs differ is not measured");
    EXPECT_EQ(close.between.source, Source::Steps);
    const TimeDifference far = difference({runOf(1000)}, {runOf(360)});
    EXPECT_EQ(far.verdict, Verdict::Faster);
    EXPECT_FALSE(far.ratio95);
    EXPECT_THAT(sentenceOf(far), HasSubstr("A step of B takes 64.0 % less than one of A: B / A = 0.360 (one "
                                           "run of each), beyond the 36 % by which"));
    // Equal single runs do not prove that there is no difference, because the deviation between runs is
    // unknown.
    EXPECT_EQ(difference({runOf(1000)}, {runOf(1000)}).verdict, Verdict::Inconclusive);
}

TEST(CompareRuns, SingleRunsAreTrustedLessWhenTheyVaryOrWereDisturbed)
{
    TimedRun disturbed = runOf(1500);
    disturbed.disturbed = true;
    TimedRun changed = runOf(1500);
    for (std::size_t i = 5; i < 10; ++i)
        changed.times[i] *= 1.4;
    EXPECT_EQ(difference({runOf(1000)}, {runOf(1500)}).verdict, Verdict::Slower);
    EXPECT_EQ(difference({runOf(1000)}, {disturbed}).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(1000)}, {changed}).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(1000)}, {{.times = {1500, 1510}}}).verdict, Verdict::Inconclusive)
        << "two steps show no spread";
    EXPECT_EQ(difference({runOf(10)}, {runOf(15)}).verdict, Verdict::Inconclusive)
        << "a tenth of a second predicts little about the next second";
    EXPECT_EQ(difference({runOf(10)}, {runOf(40)}).verdict, Verdict::Slower);
}

TEST(CompareRuns, APartOfTheStepIsNotTrustedMoreThanTheStep)
{
    const TimeDifference alone = difference({runOf(1000)}, {runOf(1500)});
    EXPECT_EQ(alone.verdict, Verdict::Slower);
    const KnownDeviation step{.ofStep = 0.5};
    EXPECT_EQ(difference({runOf(1000)}, {runOf(1500)}, step).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(1000)}, {runOf(1500)}, step).between.deviation, 0.5);
    EXPECT_EQ(difference(runsOf({1, 1.01}), runsOf({1.5, 1.51}), step).between.source, Source::Repeats);
    EXPECT_LT(difference(runsOf({1, 1.01}), runsOf({1.5, 1.51}), step).between.deviation, 0.5);
}

TEST(CompareRuns, RepeatsGiveStudentsInterval)
{
    // By hand: logarithms -d, 0, d on either side, so a pooled variance of d^2 on four degrees of freedom.
    const double d = 0.02;
    const std::vector<TimedRun> a = runsOf({std::exp(-d), 1, std::exp(d)});
    const std::vector<TimedRun> b = runsOf({1.2 * std::exp(-d), 1.2, 1.2 * std::exp(d)});
    const TimeDifference found = difference(a, b);
    EXPECT_EQ(found.between.source, Source::Repeats);
    EXPECT_EQ(found.between.runs, 6);
    EXPECT_EQ(found.between.degrees, 4);
    EXPECT_NEAR(found.between.deviation, d, 1e-12);
    const double half = studentCritical(0.05, 4) * d * std::sqrt(2.0 / 3);
    EXPECT_NEAR(found.ratio95->low, 1.2 * std::exp(-half), 1e-9);
    EXPECT_NEAR(found.ratio95->high, 1.2 * std::exp(half), 1e-9);
    EXPECT_EQ(found.verdict, Verdict::Slower);
    EXPECT_EQ(sentenceOf(found),
              "A step of B takes 20.0 % longer than one of A: B / A = 1.200 (95 % interval 1.147 to 1.256; 3 "
              "runs and 3).");
    EXPECT_EQ(difference(b, a).verdict, Verdict::Faster);
}

TEST(CompareRuns, OtherRepeatsDetermineTheDeviationOfSingleRuns)
{
    const KnownDeviation known{.repeats = {{98, 100, 102, 99, 101}, {}, {7}}};
    const TimeDifference found = difference({runOf(100)}, {runOf(101)}, known);
    EXPECT_EQ(found.between.source, Source::Repeats);
    EXPECT_EQ(found.between.runs, 5);
    EXPECT_EQ(found.between.degrees, 4);
    EXPECT_EQ(found.verdict, Verdict::Inconclusive);
    ASSERT_TRUE(found.ratio95);
    EXPECT_THAT(sentenceOf(found), HasSubstr("one run of each). Repeat both "));
    EXPECT_EQ(difference({runOf(100)}, {runOf(101)}, {.given = 0.001}).verdict, Verdict::Slower);
    EXPECT_EQ(difference({runOf(100)}, {runOf(101)}, {.given = 0.01}).verdict, Verdict::NoDifference);
}

TEST(CompareRuns, SingleRunsOfABimodalProgramAreInconclusive)
{
    // A quarter of the repeats take three times as long: two single runs may be of different kinds.
    KnownDeviation known{.repeats = {{}}};
    for (int i = 0; i < 40; ++i)
        known.repeats[0].push_back(i % 4 == 0 ? 30 + 0.1 * i : 10 + 0.01 * i);
    EXPECT_EQ(difference({runOf(10)}, {runOf(31)}, known).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(10)}, {runOf(90)}, known).verdict, Verdict::Slower);
}

TEST(CompareRuns, NoDifferenceNeedsANarrowInterval)
{
    const TimeDifference narrow = difference(runsOf({100, 101, 99, 100}), runsOf({100, 99, 101, 101}));
    EXPECT_EQ(narrow.verdict, Verdict::NoDifference);
    EXPECT_THAT(sentenceOf(narrow), HasSubstr("No difference in the step time beyond 5 %: B / A = 1.0"));
    const TimeDifference wide = difference(runsOf({100, 110, 91}), runsOf({100, 92, 109}));
    EXPECT_EQ(wide.verdict, Verdict::Inconclusive);
    EXPECT_THAT(sentenceOf(wide), HasSubstr("Repeat both "));
    const TimeDifference hopeless = difference(runsOf({100, 300, 30}), runsOf({100, 290, 35}));
    EXPECT_EQ(hopeless.repeatsNeeded(), std::nullopt);
    EXPECT_THAT(sentenceOf(hopeless), HasSubstr("compare on a quieter machine"));
}

TEST(CompareRuns, TheSuggestedNumberOfRepeatsIsSufficient)
{
    const TimeDifference wide =
        difference(runsOf({100, 106, 94, 100, 100}), runsOf({100, 106, 94, 101, 100}));
    ASSERT_EQ(wide.verdict, Verdict::Inconclusive);
    const auto needed = static_cast<double>(wide.repeatsNeeded().value());
    const double half =
        studentCritical(0.05, 2 * needed - 2) * wide.between.deviation * std::sqrt(2 / needed);
    EXPECT_LE(half, std::log(1.05));
    EXPECT_GT(needed, 5);
}

TEST(CompareRuns, VerdictIntervalAndSentenceFollowOneRule)
{
    Random random(41);
    for (int trial = 0; trial < 2000; ++trial) {
        const int runs = 1 + static_cast<int>(random.below(6));
        const double deviation = 0.1 * random.uniform();
        const double factor = std::exp(0.1 * random.normal());
        expectOneRule(difference(repeats(random, runs, deviation),
                                 repeats(random, 1 + static_cast<int>(random.below(6)), deviation, factor)));
    }
}

TEST(CompareRuns, IntervalsHaveTheirNominalCoverage)
{
    Random random(43);
    for (const auto& [runsA, runsB] : {std::pair(5, 5), std::pair(2, 2), std::pair(1, 4)}) {
        int covered = 0;
        constexpr int kPairs = 4000;
        for (int pair = 0; pair < kPairs; ++pair) {
            const TimeDifference d =
                difference(repeats(random, runsA, 0.03), repeats(random, runsB, 0.03, 1.1));
            covered += d.ratio95->low <= 1.1 && 1.1 <= d.ratio95->high;
        }
        EXPECT_NEAR(covered / double(kPairs), 0.95, 0.012) << runsA << " against " << runsB;
    }
}

TEST(CompareRuns, FivePairsOfRepeatsFindTenPerCent)
{
    Random random(47);
    int found = 0;
    constexpr int kPairs = 1000;
    for (int pair = 0; pair < kPairs; ++pair)
        found +=
            difference(repeats(random, 5, 0.03), repeats(random, 5, 0.03, 1.1)).verdict == Verdict::Slower;
    EXPECT_GE(found, 0.95 * kPairs);
}

TEST(CompareRuns, RunsWithoutStepsAreNotCompared)
{
    EXPECT_FALSE(compareRuns({}, std::vector{runOf(1)}));
    EXPECT_FALSE(compareRuns(std::vector{TimedRun{}}, std::vector{runOf(1)}));
    const std::vector<TimedRun> partly{runOf(1), TimedRun{}};
    EXPECT_EQ(compareRuns(partly, std::vector{runOf(1)})->runsA, 1);
}

} // namespace tilescope::analysis
