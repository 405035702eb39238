#include "core/analysis/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

namespace {

/// A ratio known to a factor of `reach`, from five repeats of each.
TimeDifference measured(double ratio, double reach)
{
    return {.runsA = 5,
            .runsB = 5,
            .ratio = ratio,
            .between = {.deviation = std::log(reach) / 2,
                        .degrees = 4,
                        .source = BetweenRuns::Source::Repeats,
                        .inTurn = true},
            .deviation = std::log(reach) / 2,
            .allowed = {ratio / reach, ratio * reach},
            .ratio95 = ConfidenceInterval{ratio / reach, ratio * reach}};
}

} // namespace

TEST(Gate, FollowsTheEndsOfTheInterval)
{
    const auto outcome = [](double ratio, double reach) {
        const TimeDifference step = measured(ratio, reach);
        return gateOf(&step, 0.03).outcome;
    };
    EXPECT_EQ(outcome(1.0, 1.03), GateOutcome::Passed) << "ends at the limit";
    EXPECT_EQ(outcome(0.9, 1.1), GateOutcome::Passed);
    EXPECT_EQ(outcome(1.0, 1.031), GateOutcome::Undecided);
    EXPECT_EQ(outcome(1.05, 1.01), GateOutcome::Exceeded);
    EXPECT_EQ(outcome(1.03 * 1.01, 1.011), GateOutcome::Undecided);
}

TEST(Gate, AnUndecidedOneNamesTheRepeatsThatSuffice)
{
    const TimeDifference step = measured(1.0, 1.036);
    const Gate gate = gateOf(&step, 0.03);
    ASSERT_TRUE(gate.repeats);
    EXPECT_GT(*gate.repeats, 5);
    // Half the distance to the limit needs about four times as many.
    const Gate nearer = gateOf(&step, std::exp(std::log(1.03) / 2) - 1);
    ASSERT_TRUE(nearer.repeats);
    EXPECT_GT(*nearer.repeats, 2.5 * static_cast<double>(*gate.repeats));
    const TimeDifference at = measured(1.03, 1.06);
    EXPECT_EQ(gateOf(&at, 0.03).repeats, std::nullopt) << "the ratio is the limit";
}

TEST(Gate, AnUndecidedOneOfRunsThatWereNotTakenInTurnSaysHowToDecide)
{
    TimeDifference step = measured(1.0, 1.06);
    step.between.inTurn = false;
    step.between.shift = 0.05;
    EXPECT_THAT(
        sentenceOf(gateOf(&step, 0.03)),
        ::testing::HasSubstr("Take them in turn to decide: tilescope compare --measure A B --repeat "));
    step.between.inTurn = true;
    EXPECT_THAT(sentenceOf(gateOf(&step, 0.03)), ::testing::HasSubstr("Repeat both "));
}

TEST(Gate, SingleRunsAndRunsWithoutStepsAreUndecided)
{
    const TimeDifference single{
        .runsA = 1, .runsB = 1, .ratio = 2, .allowed = {1.6, 2.4}, .verdict = Verdict::Slower};
    EXPECT_EQ(gateOf(&single, 0.03).outcome, GateOutcome::Undecided) << "no interval";
    EXPECT_EQ(gateOf(&single, 0.03).repeats, 5);
    EXPECT_EQ(gateOf(nullptr, 0.03).outcome, GateOutcome::Undecided);
    EXPECT_EQ(gateOf(nullptr, 0.03).repeats, std::nullopt);
}

} // namespace tilescope::analysis
