#include "core/analysis/advice/stake.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

GroupedTime grouped(std::int64_t start, std::int64_t end, std::uint32_t group)
{
    return {between(start, end), group};
}

} // namespace

TEST(Stake, CountsEachInstantOnceForTheStretchThatStartsFirst)
{
    const Stake stake =
        stakeOf({grouped(5, 20, 1), grouped(0, 10, 0), grouped(30, 40, 1)}, std::vector{between(0, 100)});
    EXPECT_EQ(stake.time, 30_ns);
    ASSERT_EQ(stake.parts.size(), 2U);
    EXPECT_EQ(stake.parts[0], (StakePart{.group = 1, .count = 2, .total = 25_ns, .atStake = 20_ns}));
    EXPECT_EQ(stake.parts[1], (StakePart{.group = 0, .count = 1, .total = 10_ns, .atStake = 10_ns}));
}

TEST(Stake, LeavesOutWhatIsOutsideOfWallsOrBesideOthers)
{
    const Stake stake = stakeOf({grouped(0, 10, 0), grouped(20, 30, 0), grouped(50, 60, 0)},
                                std::vector{between(5, 25), between(25, 40)}, std::vector{between(22, 27)});
    EXPECT_EQ(stake.time, 5_ns + 2_ns + 3_ns);
    EXPECT_EQ(stake.parts[0].count, 2);
    EXPECT_EQ(stakeOf({grouped(50, 60, 0)}, std::vector{between(5, 25)}).parts.size(), 0U);
}

TEST(Stake, AgreesWithEachNanosecondDecidedByItself)
{
    constexpr int kSeed = 11;
    std::mt19937 random(kSeed);
    for (int round = 0; round < 200; ++round) {
        std::vector<GroupedTime> times;
        for (int i = 0; i < 12; ++i) {
            const int start = static_cast<int>(random() % 90);
            times.push_back(grouped(start, start + static_cast<int>(random() % 20), random() % 3));
        }
        const std::vector<Interval> walls{between(10, 40), between(45, 95)};
        const std::vector<Interval> others{between(20, 25), between(60, 62)};
        std::int64_t expected = 0;
        for (std::int64_t t = 0; t < 120; ++t) {
            const auto has = [t](const Interval& time) {
                return time.start <= timestampAt(t) && timestampAt(t) < time.end;
            };
            expected += std::ranges::any_of(times, has, &GroupedTime::time) &&
                                std::ranges::any_of(walls, has) && std::ranges::none_of(others, has)
                            ? 1
                            : 0;
        }
        const Stake stake = stakeOf(times, walls, others);
        EXPECT_EQ(stake.time.count(), expected) << "seed " << kSeed << ", round " << round;
        Nanoseconds sum{0};
        for (const StakePart& part : stake.parts)
            sum += part.atStake;
        EXPECT_EQ(sum, stake.time);
    }
}

TEST(Stake, ScalesPartsAndAddsThemUp)
{
    const Stake stake = scaled(stakeOf({grouped(0, 10, 0), grouped(10, 30, 1)}, std::vector{between(0, 100)}),
                               [](std::uint32_t group) { return group == 0 ? 1.0 : 0.25; });
    EXPECT_EQ(stake.time, 15_ns);
    EXPECT_EQ(stake.parts[0].group, 0U);
    EXPECT_EQ(stake.parts[0].atStake, 10_ns);
    EXPECT_EQ(stake.parts[1].atStake, 5_ns);
}

TEST(Stake, ThoseOfSeveralProcessesAddUpByGroup)
{
    const std::vector<Interval> walls{between(0, 100)};
    const std::vector<Stake> stakes{stakeOf({grouped(0, 10, 0), grouped(20, 25, 1)}, walls),
                                    stakeOf({grouped(0, 30, 1), grouped(40, 41, 2)}, walls), Stake{}};
    const Stake sum = sumOf(stakes);
    EXPECT_EQ(sum.time, 46_ns);
    EXPECT_EQ(sum.parts, (std::vector<StakePart>{{.group = 1, .count = 2, .total = 35_ns, .atStake = 35_ns},
                                                 {.group = 0, .count = 1, .total = 10_ns, .atStake = 10_ns},
                                                 {.group = 2, .count = 1, .total = 1_ns, .atStake = 1_ns}}));
    EXPECT_EQ(sumOf(std::vector{stakes[0]}).parts, stakes[0].parts);
}

TEST(ExposedStake, IsAtMostTheComputeThatCouldHideIt)
{
    const std::vector<Interval> walls{between(0, 100), between(100, 200)};
    // Step 0: 30 exposed and 20 of compute alone. Step 1: 10 exposed and 50 of compute alone.
    const std::vector<Interval> compute{between(0, 20), between(60, 65), between(150, 200)};
    const Stake stake =
        exposedStake({grouped(30, 60, 0), grouped(60, 65, 1), grouped(120, 130, 2)}, walls, compute);
    EXPECT_EQ(stake.time, 30_ns);
    EXPECT_EQ(stake.parts[0].atStake, 20_ns);
    EXPECT_EQ(stake.parts[1].group, 2U);
    EXPECT_EQ(stake.parts[1].atStake, 10_ns);
    EXPECT_EQ(stake.parts[2].atStake, 0_ns) << "runs beside compute";
    EXPECT_EQ(exposedStake({grouped(30, 60, 0)}, walls, {}).time, 0_ns) << "nothing can hide it";
}

} // namespace tilescope::analysis
