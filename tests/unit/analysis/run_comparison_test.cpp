#include "core/analysis/compare/run_comparison.h"

#include "core/analysis/compare/several_threads.h"
#include "core/analysis/stats/random.h"
#include "core/analysis/stats/student_t.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// Gives the runs of both sides the times of a measurement in turn: A B, B A, …
void takeInTurn(std::vector<TimedRun>& a, std::vector<TimedRun>& b)
{
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        const auto pair = static_cast<std::int64_t>(10 * (i + 1));
        if (i < a.size())
            a[i].started = pair + (i % 2 == 0 ? 0 : 1);
        if (i < b.size())
            b[i].started = pair + (i % 2 == 0 ? 1 : 0);
    }
}

TimeDifference difference(const std::vector<TimedRun>& a, const std::vector<TimedRun>& b,
                          const KnownDeviation& known = {})
{
    return compareRuns(a, b, known).value();
}

TimeDifference differenceInTurn(std::vector<TimedRun> a, std::vector<TimedRun> b)
{
    takeInTurn(a, b);
    return compareRuns(a, b).value();
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
                                           "run of each), beyond the 18 % by which"));
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
    disturbed.times = runOf(1350).times;
    EXPECT_EQ(difference({runOf(1000)}, {runOf(1350)}).verdict, Verdict::Slower);
    EXPECT_EQ(difference({runOf(1000)}, {disturbed}).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(1000)}, {changed}).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({runOf(1000)}, {{.times = {1500, 1510}}}).verdict, Verdict::Inconclusive)
        << "two steps show no spread";
    EXPECT_EQ(difference({runOf(10.5)}, {runOf(20)}).verdict, Verdict::Inconclusive)
        << "a tenth of a second predicts little about the next second";
    EXPECT_EQ(difference({runOf(10)}, {runOf(30)}).verdict, Verdict::Slower);
    EXPECT_EQ(difference({runOf(1)}, {runOf(3)}).verdict, Verdict::Inconclusive) << "a hundredth even less";
    EXPECT_EQ(difference({runOf(1)}, {runOf(3.6)}).verdict, Verdict::Slower);
}

TEST(CompareRuns, AFactorOfThreeIsFoundHoweverTheRunsWereTaken)
{
    for (const double median : {0.5, 10.0, 100.0, 1000.0})
        for (const bool disturbed : {false, true})
            for (const int count : {1, 2, 3, 10, 100, 1000}) {
                if (count * median <= 30)
                    continue; // hardly a moment
                const auto runs = [&](double factor) {
                    TimedRun run{.disturbed = disturbed};
                    for (int i = 0; i < count; ++i)
                        run.times.push_back(factor * median * (1 + 0.05 * ((i * 7 % 10) - 4.5) / 4.5));
                    return std::vector{run};
                };
                EXPECT_EQ(difference(runs(1), runs(3)).verdict, Verdict::Slower)
                    << count << " steps of " << median << " ms" << (disturbed ? ", disturbed" : "");
                EXPECT_EQ(difference(runs(3), runs(1)).verdict, Verdict::Faster)
                    << count << " steps of " << median << " ms" << (disturbed ? ", disturbed" : "");
            }
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

TEST(CompareRuns, RunsThatWereTakenInTurnGiveStudentsIntervalOfTheirPairs)
{
    // By hand: logarithms of the ratios 0.2 - d, 0.2, 0.2 + d, so a variance of d^2 on two degrees of freedom, although
    // the machine became twice as slow in between.
    const double d = 0.02;
    const double level = std::exp(0.2);
    const std::vector<TimedRun> a = runsOf({1, 2, 2});
    const std::vector<TimedRun> b = runsOf({level * std::exp(-d), 2 * level, 2 * level * std::exp(d)});
    const TimeDifference found = differenceInTurn(a, b);
    EXPECT_EQ(found.between.source, Source::Repeats);
    EXPECT_TRUE(found.between.inTurn);
    EXPECT_EQ(found.between.shift, 0);
    EXPECT_EQ(found.between.runs, 6);
    EXPECT_EQ(found.between.degrees, 2);
    EXPECT_NEAR(found.between.deviation, d / std::sqrt(2), 1e-12);
    const double half = studentCritical(0.013, 2) * d / std::sqrt(3);
    EXPECT_NEAR(found.ratio95->low, level * std::exp(-half), 1e-9);
    EXPECT_NEAR(found.ratio95->high, level * std::exp(half), 1e-9);
    EXPECT_EQ(found.verdict, Verdict::Slower);
    EXPECT_EQ(sentenceOf(found),
              "A step of B takes 22.1 % longer than one of A: B / A = 1.221 (95 % interval 1.105 to 1.350; 3 "
              "runs and 3).");
    EXPECT_EQ(differenceInTurn(b, a).verdict, Verdict::Faster);
}

TEST(CompareRuns, RunsInTurnAreRecognisedByTheirTimes)
{
    std::vector<TimedRun> a = runsOf({1, 1, 1});
    std::vector<TimedRun> b = runsOf({1, 1, 1});
    EXPECT_FALSE(areInTurn(a, b)) << "their times are unknown";
    takeInTurn(a, b);
    EXPECT_TRUE(areInTurn(a, b));
    b.pop_back();
    EXPECT_TRUE(areInTurn(a, b)) << "one run is left over";
    b.pop_back();
    EXPECT_FALSE(areInTurn(a, b)) << "two are";
    b = runsOf({1, 1, 1});
    for (std::size_t i = 0; i < 3; ++i)
        b[i].started = static_cast<std::int64_t>(100 + i);
    EXPECT_FALSE(areInTurn(a, b)) << "one command after the other";
    const std::vector<TimedRun> oneA{{.times = {1}, .started = 1}};
    const std::vector<TimedRun> oneB{{.times = {1}, .started = 2}};
    EXPECT_FALSE(areInTurn(oneA, oneB)) << "one pair shows no deviation";
}

TEST(CompareRuns, SidesThatWereNotTakenInTurnMayBeShifted)
{
    // Every run takes over a second.
    const std::vector<TimedRun> a = runsOf({998, 1000, 1002});
    std::vector<TimedRun> b = runsOf({1098, 1100, 1102});
    const TimeDifference quiet = difference(a, b);
    EXPECT_EQ(quiet.verdict, Verdict::Inconclusive) << sentenceOf(quiet);
    EXPECT_EQ(quiet.between.shift, 0.05);
    EXPECT_THAT(sentenceOf(quiet),
                HasSubstr("3 runs and 3), which were not taken in turn. Take them in turn to decide: "
                          "tilescope compare --measure A B --repeat 5."));
    EXPECT_EQ(differenceInTurn(a, b).verdict, Verdict::Slower);
    for (TimedRun& run : b)
        run.disturbed = true;
    EXPECT_EQ(difference(a, b).between.shift, 0.10);
    EXPECT_EQ(difference(runsOf({100, 101}), runsOf({100, 101})).between.shift, 0.20) << "short";
    EXPECT_EQ(difference(runsOf({10, 10.1}), runsOf({10, 10.1})).between.shift, 0.2434) << "very short";
    double before = 0.10;
    for (const double waiting : {0.1, 0.3, 0.5, 0.8}) {
        for (TimedRun& run : b)
            run.waiting = waiting;
        const double shift = difference(a, b).between.shift;
        EXPECT_GT(shift, before) << waiting;
        before = shift;
    }
    EXPECT_EQ(difference(a, b, {.given = 0.001}).between.shift, 0) << "the user knows better";
}

TEST(CompareRuns, TheIntervalContainsTheRatioWithoutWaiting)
{
    // The same program; while B ran, its thread had a core in a quarter of the time.
    std::vector<TimedRun> a{runOf(1000), runOf(1010)};
    std::vector<TimedRun> b{runOf(4000), runOf(4040)};
    for (TimedRun& run : a)
        run.waiting = 0;
    for (TimedRun& run : b)
        run.waiting = 0.75;
    const TimeDifference alike = difference(a, b);
    EXPECT_EQ(alike.verdict, Verdict::Inconclusive);
    EXPECT_LT(alike.ratio95->low, 1);
    EXPECT_GT(alike.ratio95->high, 4);
    // A program that is three times as slow under the same load is found.
    for (TimedRun& run : a)
        run.waiting = 0.75;
    EXPECT_EQ(difference(a, b).verdict, Verdict::Slower);
}

TEST(CompareRuns, CommandsThatWaitedDifferentlyAreComparedWithoutTheirWaiting)
{
    // B takes three times as long, but had a core all the time; A had one in a quarter of the time.
    std::vector<TimedRun> a{runOf(4000), runOf(4040)};
    std::vector<TimedRun> b{runOf(3000), runOf(3030)};
    for (TimedRun& run : a)
        run.waiting = 0.75;
    for (TimedRun& run : b)
        run.waiting = 0;
    EXPECT_EQ(difference(a, b).verdict, Verdict::Inconclusive) << "threads may have waited for each other";
    for (auto* side : {&a, &b})
        for (TimedRun& run : *side)
            run.threads = 1;
    const TimeDifference slower = difference(a, b);
    EXPECT_EQ(slower.verdict, Verdict::Slower);
    EXPECT_EQ(slower.basis, Basis::WithoutWaiting);
    EXPECT_NEAR(slower.ratio, 3, 1e-9);
    EXPECT_NEAR(slower.difference, slower.medianB - slower.medianA, 1e-9) << "as it was measured";
    EXPECT_GT(slower.ratio95->low, 1);
    EXPECT_FALSE(slower.difference95);
    EXPECT_THAT(sentenceOf(slower),
                ::testing::StartsWith("Without the time that threads waited for a core, a step "
                                      "of B takes 200.0 % longer than one of A: B / A = 3.000"));
    EXPECT_EQ(difference(b, a).verdict, Verdict::Faster);
    EXPECT_EQ(difference({a[0]}, {b[0]}).verdict, Verdict::Slower) << "single runs";
    for (std::size_t i = 0; i < a[0].times.size(); ++i)
        a[0].times[i] *= i < 5 ? 1.5 : 0.5; // the load changed
    EXPECT_EQ(difference({a[0]}, {b[0]}).verdict, Verdict::Slower)
        << "its median says little, its mean does not";
    b[1].waiting.reset();
    EXPECT_EQ(difference(a, b).verdict, Verdict::Inconclusive) << "it is not known how long a run waited";
}

TEST(CompareRuns, DisturbedCommandsOfSeveralThreadsAreComparedByTheirQuickestStepsWithoutWaiting)
{
    // B takes three times as long. While A ran, its threads waited for a core in half of the time, and most steps lost more.
    TimedRun a = runOf(2000);
    TimedRun b = runOf(3000);
    for (std::size_t i = 3; i < 10; ++i)
        a.times[i] = 6000;
    a.waiting = 0.5;
    b.waiting = 0;
    for (TimedRun* run : {&a, &b}) {
        run->threads = 2;
        run->disturbed = true;
    }
    const TimeDifference slower = difference({a}, {b});
    EXPECT_EQ(slower.verdict, Verdict::Slower);
    EXPECT_EQ(slower.basis, Basis::QuickStepsWithoutWaiting);
    EXPECT_NEAR(slower.ratio, 3, 0.01);
    EXPECT_THAT(sentenceOf(slower),
                ::testing::StartsWith("The host was busy. Without the time that threads waited for a "
                                      "core, the quickest tenth of the steps of B takes"));
    EXPECT_EQ(difference({b}, {a}).verdict, Verdict::Faster);
    b.times = runOf(1000).times;
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Inconclusive) << "the same program";
}

namespace {

/// A run of 60 steps of two threads on a host that gives each of them a core for a share of the time that changes from run
/// to run. A step is `work` ms in which both have one, or, if they do not wait for each other, the first.
TimedRun runOfTwoThreads(Random& random, int work, int threads, bool waitForEachOther = true)
{
    const std::array shares{0.3 + 0.7 * random.uniform(), 0.3 + 0.7 * random.uniform()};
    TimedRun run{.disturbed = true, .threads = threads};
    std::array waited{0.0, 0.0};
    double all = 0;
    for (int step = 0; step < 60; ++step) {
        double wall = 0;
        for (int done = 0; done < work; ++wall) {
            const bool first = random.uniform() < shares[0];
            const bool second = random.uniform() < shares[1];
            waited[0] += first ? 0 : 1;
            waited[1] += second ? 0 : 1;
            done += first && (second || !waitForEachOther) ? 1 : 0;
        }
        run.times.push_back(wall);
        all += wall;
    }
    run.waiting = std::max(waited[0], waited[1]) / all;
    run.someWaiting = 1 - (1 - waited[0] / all) * (1 - waited[1] / all);
    return run;
}

} // namespace

TEST(CompareRuns, ThreeTimesAsLongIsFoundOfThreadsThatWaitForEachOtherOnABusyHost)
{
    Random random(71);
    constexpr int kPairs = 500;
    for (const int threads : {2, kSeveralThreads})
        for (const bool waitForEachOther : {true, false}) {
            if (threads == 2 && !waitForEachOther)
                continue; // those of this program wait for each other
            int isFalse = 0;
            int found = 0;
            for (int pair = 0; pair < kPairs; ++pair) {
                const TimedRun a = runOfTwoThreads(random, 20, threads, waitForEachOther);
                isFalse +=
                    difference({a}, {runOfTwoThreads(random, 20, threads, waitForEachOther)}).isDifferent();
                const TimeDifference slower =
                    difference({a}, {runOfTwoThreads(random, 60, threads, waitForEachOther)});
                found += slower.verdict == Verdict::Slower;
                EXPECT_NE(slower.basis, Basis::QuickStepsWithoutWaiting);
            }
            // Of 500 with a rate of 5 %, more than 45 have a probability below 1e-4; with one of 95 %, fewer than 455.
            EXPECT_LE(isFalse, 45) << threads << waitForEachOther;
            EXPECT_GE(found, waitForEachOther ? 455 : 0) << threads;
        }
}

/// Steps of two threads, ms, on a host that was busy throughout, or quiet.
TimedRun stepsOfTwo(double step, bool isBusy, int steps = 60)
{
    TimedRun run{.disturbed = isBusy, .waiting = isBusy ? 0.66 : 0.001, .threads = 2};
    run.someWaiting = isBusy ? 0.87 : 0.002;
    for (int i = 0; i < steps; ++i)
        run.times.push_back(step * (1 + 0.02 * (i % 7 - 3)));
    return run;
}

TEST(CompareRuns, StepsBelowATimeSliceMayHaveLostAnyTimeToThreadsThatWaitedForEachOther)
{
    // Measured: attention of 64 tokens takes 0.1 ms if both threads have a core, and 127 ms in all 60 steps of a run
    // whose threads waited for 66 % of the time (tests/bench/results/compare).
    for (const std::size_t runs : {1U, 5U}) {
        const std::vector<TimedRun> quiet(runs, stepsOfTwo(0.1, false));
        const std::vector<TimedRun> busy(runs, stepsOfTwo(127, true));
        EXPECT_EQ(difference(quiet, busy).verdict, Verdict::Inconclusive) << runs;
        EXPECT_EQ(difference(busy, quiet).verdict, Verdict::Inconclusive) << runs;
        EXPECT_EQ(difference(quiet, std::vector<TimedRun>(runs, stepsOfTwo(0.9, false))).verdict,
                  Verdict::Slower)
            << "nobody waited";
    }
    TimedRun alone = stepsOfTwo(10, true);
    alone.threads = 1;
    TimedRun aloneQuiet = stepsOfTwo(0.1, false);
    aloneQuiet.threads = 1;
    EXPECT_EQ(difference({aloneQuiet}, {alone}).verdict, Verdict::Slower) << "one thread waits for none";
    EXPECT_EQ(difference({stepsOfTwo(20, true)}, {stepsOfTwo(127, true)}).verdict, Verdict::Slower)
        << "longer steps lose time in proportion";
}

TEST(CompareRuns, ShortRunsOfSeveralThreadsSeeFewStatesOfTheLoad)
{
    const TimedRun first = stepsOfTwo(20, true, 6);
    const TimedRun second = stepsOfTwo(60, true, 6);
    EXPECT_EQ(difference({first}, {second}).verdict, Verdict::Inconclusive);
    EXPECT_EQ(difference({stepsOfTwo(20, true, 600)}, {stepsOfTwo(60, true, 600)}).verdict, Verdict::Slower);
}

TEST(CompareRuns, AMomentIsExplainedByTheWaitingOfTheOnlyThreadOrItsAbsence)
{
    // 10 steps of 2 ms.
    TimedRun a = runOf(2);
    TimedRun b = runOf(6);
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Inconclusive) << "of another device or program";
    a.threads = b.threads = 2;
    a.waiting = b.waiting = 0;
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Slower);
    EXPECT_EQ(difference({b}, {a}).verdict, Verdict::Faster);
    a.waiting = 0.3;
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Inconclusive)
        << "threads may have waited for each other";
    a.threads = b.threads = 1;
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Slower);
    // The same program, which had a core in a third of the time.
    b.waiting = 2.0 / 3;
    a.waiting = 0;
    EXPECT_EQ(difference({a}, {b}).verdict, Verdict::Inconclusive);
}

/// A busy host: most steps take up to ten times as long as the quickest.
TimedRun busyRun(Random& random, double quick)
{
    TimedRun run{.disturbed = true};
    const double slow = 1 + 9 * random.uniform();
    for (int i = 0; i < 20; ++i)
        run.times.push_back(quick * (i % 5 == 0 ? 1 + 0.02 * random.uniform() : slow));
    return run;
}

TEST(CompareRuns, RunsInTurnOnABusyHostAreComparedByTheTimesThatVaryLeast)
{
    Random random(59);
    int falseVerdicts = 0;
    constexpr int kPairs = 1000;
    for (int pair = 0; pair < kPairs; ++pair) {
        std::vector<TimedRun> a;
        std::vector<TimedRun> b;
        std::vector<TimedRun> slower;
        for (int i = 0; i < 5; ++i) {
            a.push_back(busyRun(random, std::exp(0.05 * random.normal())));
            b.push_back(busyRun(random, std::exp(0.05 * random.normal())));
            slower.push_back(busyRun(random, 1.5 * std::exp(0.05 * random.normal())));
        }
        falseVerdicts += differenceInTurn(a, b).isDifferent();
        const TimeDifference found = differenceInTurn(a, slower);
        EXPECT_EQ(found.verdict, Verdict::Slower);
        EXPECT_EQ(found.basis, Basis::QuickSteps);
        EXPECT_FALSE(found.difference95) << "the medians have no interval";
        EXPECT_NEAR(found.difference, found.medianB - found.medianA, 1e-9);
    }
    // Of 1000 with a rate of 5 %, more than 76 have a probability below 1e-4.
    EXPECT_LE(falseVerdicts, 76);
    std::vector<TimedRun> a{busyRun(random, 1), busyRun(random, 1.01), busyRun(random, 1)};
    std::vector<TimedRun> b{busyRun(random, 1.5), busyRun(random, 1.5), busyRun(random, 1.52)};
    EXPECT_THAT(sentenceOf(differenceInTurn(a, b)),
                ::testing::StartsWith("The host was busy. The quickest tenth of the steps of B takes"));
    for (auto* side : {&a, &b})
        for (TimedRun& run : *side)
            run.disturbed = false;
    EXPECT_EQ(differenceInTurn(a, b).basis, Basis::Medians) << "the program itself varies";
}

TEST(CompareRuns, RunsInTurnThatKnowTheirWaitingAreComparedWithoutIt)
{
    std::vector<TimedRun> a;
    std::vector<TimedRun> b;
    for (const double waiting : {0.1, 0.5, 0.8, 0.3, 0.6}) {
        a.push_back(runOf(100 / (1 - waiting)));
        b.push_back(runOf(102 / waiting));
        a.back().waiting = waiting;
        b.back().waiting = 1 - waiting;
        a.back().disturbed = b.back().disturbed = true;
    }
    const TimeDifference found = differenceInTurn(a, b);
    EXPECT_EQ(found.basis, Basis::WithoutWaiting);
    EXPECT_NEAR(found.ratio, 1.02, 1e-3);
    EXPECT_EQ(found.verdict, Verdict::Slower) << sentenceOf(found);
    for (TimedRun& run : b)
        run.waiting.reset();
    EXPECT_NE(differenceInTurn(a, b).basis, Basis::WithoutWaiting);
}

TEST(CompareRuns, RepeatsShowWhatAffectsShortRunsForAMoment)
{
    const std::vector<TimedRun> one = runsOf({1});
    std::vector<TimedRun> five = runsOf({1, 1.1, 0.9, 1.05, 0.95});
    EXPECT_EQ(difference(five, five).between.shift, 0.20);
    EXPECT_EQ(difference(five, five).between.shiftDegrees, 8);
    five.pop_back();
    EXPECT_EQ(difference(five, five).between.shift, 0.2734) << "four are too few";
    EXPECT_EQ(difference(five, five).between.shiftDegrees, 3);
}

TEST(CompareRuns, TheIntervalOfDisturbedRunsContainsTheRatioOfTheirQuickSteps)
{
    // Both take 1000 ms when the host lets them; most steps of B were disturbed.
    std::vector<TimedRun> a{runOf(1000), runOf(1000)};
    std::vector<TimedRun> b{runOf(3000), runOf(3000)};
    for (TimedRun& run : b)
        for (std::size_t i = 0; i < 3; ++i)
            run.times[i] = 1000;
    EXPECT_EQ(difference(a, b).verdict, Verdict::Slower) << "nothing says that B was disturbed";
    for (TimedRun& run : b)
        run.disturbed = true;
    const TimeDifference disturbed = difference(a, b);
    EXPECT_EQ(disturbed.verdict, Verdict::Inconclusive);
    EXPECT_NEAR(disturbed.ratio, 3, 0.01) << "a verdict is only given up, the estimate stays";
    EXPECT_LT(disturbed.ratio95->low, 1);
    EXPECT_GT(disturbed.ratio95->high, 3);
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
    EXPECT_THAT(sentenceOf(found),
                HasSubstr("one run of each), which were not taken in turn. Take them in turn to decide"));
    EXPECT_EQ(found.between.shift, 0.05);
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
    const TimeDifference narrow = differenceInTurn(runsOf({100, 101, 99, 100}), runsOf({100, 99, 101, 101}));
    EXPECT_EQ(narrow.verdict, Verdict::NoDifference);
    EXPECT_THAT(sentenceOf(narrow), HasSubstr("No difference in the step time beyond 5 %: B / A = 1.0"));
    const TimeDifference wide = differenceInTurn(runsOf({100, 110, 91}), runsOf({100, 92, 109}));
    EXPECT_EQ(wide.verdict, Verdict::Inconclusive);
    EXPECT_THAT(sentenceOf(wide), HasSubstr("Repeat both "));
    std::vector<TimedRun> a;
    std::vector<TimedRun> b;
    for (int i = 0; i < 50; ++i) {
        a.push_back({.times = {100.0 * (i % 2 == 0 ? 3 : 1)}});
        b.push_back({.times = {100.0 * (i % 4 < 2 ? 3 : 1)}});
    }
    const TimeDifference hopeless = differenceInTurn(a, b);
    EXPECT_EQ(hopeless.repeatsNeeded(), std::nullopt);
    EXPECT_THAT(sentenceOf(hopeless), HasSubstr("compare on a quieter machine"));
}

TEST(CompareRuns, TheSuggestedNumberOfRepeatsIsSufficient)
{
    const TimeDifference wide =
        differenceInTurn(runsOf({100, 106, 94, 100, 100}), runsOf({100, 100, 100, 101, 106}));
    ASSERT_EQ(wide.verdict, Verdict::Inconclusive);
    const auto needed = static_cast<double>(wide.repeatsNeeded().value());
    EXPECT_GT(needed, 5);
    const double error = wide.between.deviation * std::sqrt(2 / needed);
    const double narrow = studentCritical(0.05, needed - 1) * error;
    const double shown = (studentCritical(0.05, needed - 1) + studentCritical(0.4, needed - 1)) * error;
    EXPECT_TRUE(narrow <= std::log(1.05) || shown <= std::abs(std::log(wide.ratio))) << needed;
}

TEST(CompareRuns, SuggestedRepeatsFindALargeDifferenceAmongRunsThatVaryMuch)
{
    Random random(53);
    int found = 0;
    constexpr int kPairs = 100;
    for (int pair = 0; pair < kPairs; ++pair) {
        TimeDifference d = differenceInTurn(repeats(random, 5, 0.25), repeats(random, 5, 0.25, 1.5));
        while (d.verdict == Verdict::Inconclusive && d.repeatsNeeded()) {
            const int more = static_cast<int>(*d.repeatsNeeded());
            d = differenceInTurn(repeats(random, more, 0.25), repeats(random, more, 0.25, 1.5));
        }
        found += d.verdict == Verdict::Slower;
    }
    EXPECT_GE(found, 90);
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

TEST(CompareRuns, IntervalsOfRunsInTurnHaveTheirNominalCoverage)
{
    Random random(43);
    for (const int runs : {2, 5, 12}) {
        constexpr int kPairs = 4000;
        int covered = 0;
        for (int pair = 0; pair < kPairs; ++pair) {
            const TimeDifference d =
                differenceInTurn(repeats(random, runs, 0.03), repeats(random, runs, 0.03, 1.1));
            covered += d.ratio95->low <= 1.1 && 1.1 <= d.ratio95->high;
        }
        // Of 4000 covered with 98.7 %, fewer than 3913 or more than 3976 have a probability of 1e-5 each.
        EXPECT_GE(covered, 3913) << runs;
        EXPECT_LE(covered, 3976) << runs;
    }
}

TEST(CompareRuns, RepeatsUntilThereIsAVerdictCallFewEqualProgramsDifferent)
{
    Random random(53);
    for (const double deviation : {0.03, 0.1}) {
        constexpr int kPairs = 500;
        int falseVerdicts = 0;
        for (int pair = 0; pair < kPairs; ++pair) {
            std::vector<TimedRun> a = repeats(random, 5, deviation);
            std::vector<TimedRun> b = repeats(random, 5, deviation);
            TimeDifference d = differenceInTurn(a, b);
            std::int64_t looks = 1;
            for (auto asked = d.repeatsNeeded(); d.verdict == Verdict::Inconclusive && asked;
                 asked = d.repeatsNeeded(), ++looks) {
                ASSERT_TRUE(*asked >= 2 * d.runsA || *asked == 50);
                for (auto* side : {&a, &b}) {
                    const int more = static_cast<int>(*asked) - static_cast<int>(side->size());
                    for (TimedRun& run : repeats(random, more, deviation))
                        side->push_back(std::move(run));
                }
                d = differenceInTurn(a, b);
            }
            EXPECT_LE(looks, 5);
            falseVerdicts += d.isDifferent();
        }
        // Of 500 with a rate of 5 %, more than 45 have a probability below 1e-4.
        EXPECT_LE(falseVerdicts, 45) << deviation;
    }
}

TEST(CompareRuns, FivePairsInTurnFindTenPerCent)
{
    Random random(47);
    int found = 0;
    constexpr int kPairs = 1000;
    for (int pair = 0; pair < kPairs; ++pair)
        found += differenceInTurn(repeats(random, 5, 0.025), repeats(random, 5, 0.025, 1.1)).verdict ==
                 Verdict::Slower;
    EXPECT_GE(found, 0.85 * kPairs);
}

TEST(CompareRuns, RunsWithoutStepsAreNotCompared)
{
    EXPECT_FALSE(compareRuns({}, std::vector{runOf(1)}));
    EXPECT_FALSE(compareRuns(std::vector{TimedRun{}}, std::vector{runOf(1)}));
    const std::vector<TimedRun> partly{runOf(1), TimedRun{}};
    EXPECT_EQ(compareRuns(partly, std::vector{runOf(1)})->runsA, 1);
}

} // namespace tilescope::analysis
