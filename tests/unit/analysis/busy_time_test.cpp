#include "core/analysis/time/busy_time.h"

#include "core/analysis/stats/random.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kTicks = 64;
using Ticks = std::bitset<kTicks>;

/// Brute force: one bit per nanosecond.
Ticks ticksOf(const std::vector<Interval>& intervals)
{
    Ticks ticks;
    for (const Interval& each : intervals)
        for (std::int64_t t = nanosecondsOf(each.start); t < nanosecondsOf(each.end); ++t)
            ticks.set(static_cast<std::size_t>(t));
    return ticks;
}

std::vector<Interval> randomIntervals(Random& random)
{
    std::vector<Interval> intervals;
    for (std::uint64_t i = random.below(8); i > 0; --i) {
        const auto start = static_cast<std::int64_t>(random.below(kTicks));
        const auto length =
            static_cast<std::int64_t>(random.below(kTicks - static_cast<std::uint64_t>(start)));
        intervals.push_back(between(start, start + length));
    }
    return intervals;
}

} // namespace

TEST(Intervals, AgreeWithCountingNanoseconds)
{
    Random random(99);
    for (int trial = 0; trial < 2000; ++trial) {
        const auto rawA = randomIntervals(random);
        const auto rawB = randomIntervals(random);
        const auto a = unionOf(rawA);
        const auto b = unionOf(rawB);
        EXPECT_EQ(ticksOf(a), ticksOf(rawA));
        EXPECT_EQ(lengthOf(a).count(), static_cast<std::int64_t>(ticksOf(rawA).count()));
        EXPECT_EQ(ticksOf(intersection(a, b)), ticksOf(rawA) & ticksOf(rawB));
        EXPECT_EQ(ticksOf(difference(a, b)), ticksOf(rawA) & ~ticksOf(rawB));
        EXPECT_EQ(ticksOf(complement(between(10, 50), a)), ticksOf({between(10, 50)}) & ~ticksOf(rawA));
        for (std::size_t i = 1; i < a.size(); ++i)
            EXPECT_LT(a[i - 1].end, a[i].start) << "trial " << trial << " of seed 99";
    }
}

} // namespace tilescope::analysis
