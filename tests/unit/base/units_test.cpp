#include "core/base/ids.h"
#include "core/base/units.h"

#include <gtest/gtest.h>

namespace tilescope {

using namespace literals;

TEST(Units, TraceClockIsTheHostsMonotonicClock)
{
    const auto before = std::chrono::steady_clock::now().time_since_epoch();
    const auto between = TraceClock::now().time_since_epoch();
    const auto after = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_LE(before, between);
    EXPECT_LE(between, after);
}

TEST(Units, LiteralsCountInTheirUnit)
{
    EXPECT_EQ((2_MiB).count, 2097152);
    EXPECT_EQ((3_ns).count(), 3);
    EXPECT_EQ(5_B - 7_B, Bytes{-2});
}

TEST(Ids, ADefaultIdIsNone)
{
    EXPECT_FALSE(RangeId{});
    EXPECT_TRUE(RangeId{0});
    EXPECT_FALSE(CorrelationId{});
    EXPECT_FALSE(CorrelationId{0});
    EXPECT_TRUE(CorrelationId{1});
}

} // namespace tilescope
