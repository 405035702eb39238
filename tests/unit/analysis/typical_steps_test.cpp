#include "core/analysis/steps/typical_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilescope::analysis {
namespace {

std::vector<std::size_t> leftOut(const std::vector<double>& walls)
{
    std::vector<std::size_t> list;
    const TypicalSteps steps = typicalSteps(walls);
    for (std::size_t i = 0; i < walls.size(); ++i)
        if (!steps.isTypical[i])
            list.push_back(i);
    return list;
}

using Numbers = std::vector<std::size_t>;

TEST(TypicalSteps, CompilationOfTheFirstStepsIsLeftOut)
{
    std::vector<double> walls(30, 5);
    for (std::size_t i = 0; i < walls.size(); ++i)
        walls[i] += 0.01 * static_cast<double>(i % 7);
    walls[0] = 29'800;
    walls[1] = 100;
    EXPECT_EQ(leftOut(walls), (Numbers{0, 1}));
}

TEST(TypicalSteps, OfFewStepsOnlyTheFirstThreeAreLeftOut)
{
    EXPECT_EQ(leftOut({30'000, 400, 5, 5.1, 4.9}), (Numbers{0, 1}));
    EXPECT_EQ(leftOut({5, 5, 5, 5, 90}), Numbers{}) << "a later step";
    EXPECT_EQ(leftOut({10, 30, 10, 30, 10, 30}), Numbers{}) << "steps that alternate";
    EXPECT_EQ(leftOut({1, 1.2, 1.1}), Numbers{});
    EXPECT_EQ(leftOut({1.6, 1}), Numbers{}) << "one step does not tell what is usual";
    EXPECT_EQ(leftOut({30, 1}), Numbers{0});
    EXPECT_EQ(leftOut({7}), Numbers{});
    EXPECT_EQ(leftOut({}), Numbers{});
}

TEST(TypicalSteps, AFirstStepFarAboveAllLaterOnesIsLeftOutHoweverTheseVary)
{
    std::vector<double> walls{4852, 171, 159, 158, 154, 159, 159, 158, 279, 488, 150, 152, 774, 471, 292,
                              155,  751, 343, 361, 160, 755, 396, 372, 156, 829, 552, 150, 158, 653, 159};
    EXPECT_EQ(leftOut(walls), Numbers{0});
    walls[0] = 2000;
    EXPECT_EQ(leftOut(walls), Numbers{}) << "not three times as long as the longest of the others";
}

TEST(TypicalSteps, SingleOutliersAreLeftOut)
{
    std::vector<double> walls(40, 10);
    walls[17] = 80;
    walls[39] = 3;
    EXPECT_EQ(leftOut(walls), (Numbers{17, 39}));
}

TEST(TypicalSteps, StepsThatRecurBelongToTheProgram)
{
    std::vector<double> walls(40, 10);
    for (std::size_t i = 9; i < walls.size(); i += 10)
        walls[i] = 80;
    EXPECT_EQ(leftOut(walls), Numbers{});
}

TEST(TypicalSteps, MoreThanAFifthIsAChangeOfLevel)
{
    std::vector<double> walls(30, 10);
    for (std::size_t i = 0; i < 12; ++i)
        walls[i] = 25;
    const TypicalSteps steps = typicalSteps(walls);
    EXPECT_EQ(leftOut(walls), Numbers{});
    ASSERT_TRUE(steps.changesAt);
    EXPECT_EQ(*steps.changesAt, 12U);
    EXPECT_EQ(steps.before, 25);
    EXPECT_EQ(steps.after, 10);
}

TEST(TypicalSteps, NoiseLeavesNothingOut)
{
    std::vector<double> walls;
    for (std::size_t i = 0; i < 50; ++i)
        walls.push_back(10 + 0.3 * static_cast<double>((i * 7919) % 11));
    EXPECT_EQ(leftOut(walls), Numbers{});
}

} // namespace
} // namespace tilescope::analysis
