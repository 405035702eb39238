#include "core/analysis/time/run_flags.h"

#include "core/analysis/stats/steady_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> flagWords(const RunConditions& run)
{
    std::vector<std::string> words;
    for (const RunFlag& flag : flagsOf(run))
        words.emplace_back(infoOf(flag.kind).name);
    return words;
}

RunConditions calm()
{
    return {.warmup = {9e6, 5e6, 5e6},
            .timed = std::vector<double>(20, 5e6),
            .clockBefore = 1980,
            .clockAfter = 1965,
            .waiting = 0.01,
            .stolen = 0.001};
}

} // namespace

TEST(RunFlags, ACalmRunHasNone)
{
    EXPECT_THAT(flagWords(calm()), IsEmpty());
    EXPECT_THAT(flagWords({}), IsEmpty());
}

TEST(RunFlags, AStartThatReachesIntoTheTimedStepsIsWarmUp)
{
    RunConditions run = calm();
    run.warmup = {9e6};
    for (std::size_t i = 0; i < 4; ++i)
        run.timed[i] = 9e6;
    ASSERT_THAT(flagWords(run), ElementsAre("warm-up-too-short"));
    EXPECT_EQ(flagsOf(run)[0].text(),
              "warm-up-too-short: the first 4 timed steps belong to it: set warmup to 5");
}

TEST(RunFlags, AChangeOfLevelIsUnsteady)
{
    RunConditions run = calm();
    for (std::size_t i = 10; i < 20; ++i)
        run.timed[i] = 6e6;
    ASSERT_THAT(flagWords(run), ElementsAre("unsteady"));
    EXPECT_EQ(flagsOf(run)[0].detail,
              "timed steps 0 to 9 take 5.00 ms, timed steps 10 to 19 take 6.00 ms (medians, counted from 0)");
    for (std::size_t i = 10; i < 17; ++i)
        run.timed[i] = 5e6;
    ASSERT_THAT(flagWords(run), ElementsAre("unsteady"));
    EXPECT_EQ(
        flagsOf(run)[0].detail,
        "timed steps 0 to 16 take 5.00 ms, timed steps 17 to 19 take 6.00 ms (medians, counted from 0)");
}

TEST(RunFlags, ALevelIsThatOfTheStepsThatAreNamed)
{
    RunConditions run = calm();
    // Three slow steps lie between seven quick ones and the last three; most steps before the last three are not slow.
    run.warmup.assign(3, 42e6);
    run.timed = {40e6, 42e6, 38e6, 45e6, 41e6, 44e6, 39e6, 220e6, 221e6, 219e6, 65.2e6, 65e6, 65.4e6};
    ASSERT_THAT(flagWords(run), ElementsAre("unsteady"));
    EXPECT_EQ(flagsOf(run)[0].detail,
              "timed steps 7 to 9 take 220 ms, timed steps 10 to 12 take 65.2 ms (medians, counted from 0)");
}

TEST(RunFlags, AFewTimedStepsAtTheLevelOfALongWarmUpAreSteady)
{
    RunConditions run = calm();
    run.warmup.assign(100, 8e6);
    run.warmup.resize(200, 5e6);
    run.timed.assign(8, 5e6);
    EXPECT_THAT(flagWords(run), ElementsAre());
}

TEST(RunFlags, ASlowChangeIsDrift)
{
    RunConditions run = calm();
    run.warmup.clear();
    run.timed.clear();
    // Rises by 5 % in steps too small to be levels, with noise between.
    for (int i = 0; i < 40; ++i)
        run.timed.push_back(5e6 * (1 + 0.05 * i / 39 + ((i * 7) % 5 - 2) * 0.005));
    ASSERT_THAT(flagWords(run), ElementsAre("drift"));
    EXPECT_THAT(flagsOf(run)[0].detail, HasSubstr("over the timed steps"));
}

TEST(RunFlags, ALargeDriftComparesTheLastStepsWithTheFirst)
{
    RunConditions run = calm();
    run.warmup.clear();
    run.timed.clear();
    // Falls to a quarter, most of it at first: the slope of a line would be a change by more than the median.
    for (int i = 0; i < 40; ++i)
        run.timed.push_back(1e6 * (1 + 8 * std::exp(-i / 12.0)));
    const std::optional<Drift> drift = driftOf(run.timed);
    ASSERT_TRUE(drift && drift->change < -1) << "a line below zero at its end";
    ASSERT_THAT(flagWords(run), ElementsAre("drift"));
    const std::string detail = flagsOf(run)[0].detail;
    EXPECT_THAT(detail, ::testing::StartsWith("the last 10 of 40 timed steps take 1.4"));
    EXPECT_THAT(detail, HasSubstr(" times faster than the first 10 ("));
    EXPECT_THAT(detail, ::testing::Not(HasSubstr("%")));
}

TEST(RunFlags, DisturbancesOfTheMachineAreFlagged)
{
    RunConditions run = calm();
    run.clockAfter = 1700;
    run.slowdowns = {"thermal (hardware)", "power brake"};
    run.waiting = 0.05;
    run.stolen = 0.5;
    EXPECT_THAT(flagWords(run), ElementsAre("throttled", "clock-changed", "busy-host"));
    EXPECT_EQ(flagsOf(run)[0].detail, "thermal (hardware), power brake");
    EXPECT_EQ(flagsOf(run)[1].detail, "SM clock 1980 to 1700 MHz during the timed steps");
    EXPECT_EQ(flagsOf(run)[2].detail, "a thread waited for a core for 5.0 % of the timed steps");
    run.waiting.reset();
    EXPECT_EQ(flagsOf(run)[2].detail, "the hypervisor gave 50.0 % of the machine to others");
}

TEST(RunFlags, FewStepsHaveNoFlagsOfSteadiness)
{
    EXPECT_THAT(flagWords({.timed = {9, 9, 9, 5, 5, 5, 5}}), IsEmpty());
}

} // namespace tilescope::analysis
