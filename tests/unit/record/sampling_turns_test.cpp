#include "core/record/sampling_turns.h"

#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace tilescope::record {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr MetricTurn::Lengths kShort{.ofSteps = 0ms, .steps = 2, .busy = 3s};

TEST(SamplingTurns, ThereAreNoneWhereOneKindIsSampled)
{
    const testing::TemporaryFolder folder;
    EXPECT_EQ(InstructionTurn::open(folder.path()), nullptr);
}

TEST(SamplingTurns, MetricsAreFirstUntilTheGpuHasBeenBusy)
{
    const testing::TemporaryFolder folder;
    MetricTurn metrics(folder.path(), kShort);
    const auto instructions = InstructionTurn::open(folder.path());
    ASSERT_NE(instructions, nullptr);
    EXPECT_EQ(metrics.sentence(), "") << "nothing was sampled";
    EXPECT_TRUE(metrics.goesOn(0s));
    EXPECT_TRUE(metrics.goesOn(2s));
    EXPECT_THAT(metrics.sentence(), HasSubstr("instructions (--inside) not at all"));
    EXPECT_FALSE(metrics.goesOn(3s));
    EXPECT_FALSE(instructions->hasBegun()) << "metrics are sampled until the turn is given";
    metrics.giveTurn();
    EXPECT_TRUE(instructions->hasBegun());
    EXPECT_FALSE(metrics.goesOn(0s)) << "for good";
    EXPECT_THAT(metrics.sentence(), HasSubstr("metrics were sampled first, for 0.0 s, then instructions"));
}

TEST(SamplingTurns, TheTurnOfMetricsEndsWithAStep)
{
    const testing::TemporaryFolder folder;
    MetricTurn metrics(folder.path(), kShort);
    const auto instructions = InstructionTurn::open(folder.path());
    ASSERT_NE(instructions, nullptr);
    EXPECT_TRUE(metrics.goesOn(0s));
    instructions->noteStep();
    EXPECT_TRUE(metrics.goesOn(0s)) << "the first step began before";
    instructions->noteStep();
    EXPECT_TRUE(metrics.goesOn(0s));
    EXPECT_TRUE(metrics.goesOn(4s)) << "in the midst of a step";
    instructions->noteStep();
    EXPECT_FALSE(metrics.goesOn(4s));
    EXPECT_THAT(metrics.sentence(), HasSubstr("until 3 steps had ended"));
}

} // namespace
} // namespace tilescope::record
