#include "core/trace/assembly/launch_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace tilescope::trace {
namespace {

LaunchTable::Launch launchAt(std::int64_t time)
{
    return {.time = time};
}

TEST(LaunchTable, FindsALaunchAsOftenAsItIsAskedFor)
{
    LaunchTable table(16);
    table.insert(7, launchAt(70));
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(table.find(7), nullptr);
        EXPECT_EQ(table.find(7)->time, 70);
    }
    EXPECT_EQ(table.find(8), nullptr);
    EXPECT_EQ(table.find(0), nullptr);
}

TEST(LaunchTable, KeepsTheFirstLaunchOfAnId)
{
    LaunchTable table(16);
    table.insert(7, launchAt(1));
    table.insert(7, launchAt(2));
    EXPECT_EQ(table.find(7)->time, 1);
    EXPECT_EQ(table.size(), 1U);
}

TEST(LaunchTable, ForgetsTheOldestWhenFull)
{
    LaunchTable table(4);
    for (std::uint32_t id = 1; id <= 6; ++id)
        table.insert(id, launchAt(id));
    EXPECT_EQ(table.find(1), nullptr);
    EXPECT_EQ(table.find(2), nullptr);
    EXPECT_EQ(table.find(3)->time, 3);
    EXPECT_EQ(table.find(6)->time, 6);
    EXPECT_EQ(table.size(), 4U);
}

TEST(LaunchTable, IsEmptyAfterClear)
{
    LaunchTable table(4);
    table.insert(1, launchAt(1));
    table.clear();
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.find(1), nullptr);
    for (std::uint32_t id = 1; id <= 4; ++id)
        table.insert(id, launchAt(id));
    EXPECT_EQ(table.find(1)->time, 1);
    EXPECT_EQ(table.size(), 4U);
}

TEST(LaunchTable, AgreesWithAMapWhateverTheIds)
{
    constexpr std::uint32_t kSeed = 20'240'611;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    std::mt19937 random(kSeed);
    constexpr std::size_t kCapacity = 64;
    LaunchTable table(kCapacity);
    std::map<std::uint32_t, std::int64_t> expected;
    std::deque<std::uint32_t> order;
    for (std::int64_t time = 1; time < 50'000; ++time) {
        // Few values, many of them equal in their low bits: collisions and wrap-around at every turn.
        const std::uint32_t id = (random() % 40 + 1) * 128 + random() % 3;
        if (!expected.contains(id)) {
            if (order.size() == kCapacity) {
                expected.erase(order.front());
                order.pop_front();
            }
            expected[id] = time;
            order.push_back(id);
        }
        table.insert(id, launchAt(time));
        const std::uint32_t asked = (random() % 40 + 1) * 128 + random() % 3;
        const auto* found = table.find(asked);
        ASSERT_EQ(found != nullptr, expected.contains(asked));
        if (found) {
            ASSERT_EQ(found->time, expected[asked]);
        }
        ASSERT_EQ(table.size(), expected.size());
    }
}

TEST(LaunchTable, ForgetsAtNoCostWhereIdsHaveNoGaps)
{
    // Enough that walking over all that is kept, once an insertion, would take minutes.
    LaunchTable table(1 << 17);
    constexpr std::uint32_t kLaunches = 2'000'000;
    for (std::uint32_t id = 1; id <= kLaunches; ++id)
        table.insert(id, launchAt(id));
    EXPECT_EQ(table.size(), std::size_t{1} << 17);
    EXPECT_EQ(table.find(kLaunches)->time, kLaunches);
    EXPECT_EQ(table.find(kLaunches - (1 << 17)), nullptr);
}

} // namespace
} // namespace tilescope::trace
