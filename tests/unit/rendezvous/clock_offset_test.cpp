#include "core/rendezvous/clock_offset.h"

#include "core/base/error.h"
#include "core/rendezvous/rank_hub.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::rendezvous {

using namespace std::chrono_literals;

TEST(ClockOffset, BoundsContainTheOffsetWhateverTheWaysTake)
{
    const auto seed = std::random_device()();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int64_t> way(1'000, 900'000);
    std::uniform_int_distribution<std::int64_t> anyOffset(-1'000'000'000'000, 1'000'000'000'000);
    for (int repeat = 0; repeat < 100; ++repeat) {
        const Nanoseconds offset(anyOffset(random));
        Timestamp here = timestampAt(5'000'000'000'000);
        std::optional<ClockOffset> all;
        Nanoseconds leastThere = 1h;
        Nanoseconds leastBack = 1h;
        for (int i = 0; i < 50; ++i) {
            const Nanoseconds there(way(random));
            const Nanoseconds back(way(random));
            leastThere = std::min(leastThere, there);
            leastBack = std::min(leastBack, back);
            const ClockOffset one = boundsOf(here, here + there + offset, here + there + back);
            all = all ? intersection(*all, one) : one;
            here += there + back;
        }
        EXPECT_EQ(all->most - all->least, leastThere + leastBack);
        EXPECT_LE(std::chrono::abs(all->middle() - offset), all->uncertainty());
    }
}

TEST(ClockOffset, OfADriftingClockContainsBothMeasurements)
{
    const ClockOffset both = ClockOffset{10ns, 20ns}.with({40ns, 44ns});
    EXPECT_EQ(both.least, 10ns);
    EXPECT_EQ(both.most, 44ns);
    EXPECT_EQ(both.middle(), 27ns);
    EXPECT_EQ(both.uncertainty(), 17ns);
}

TEST(ClockOffset, IsZeroOnOneHost)
{
    const RankHub hub;
    const ClockOffset offset = measureClockOffset(hub.address());
    EXPECT_LE(offset.least, 0ns);
    EXPECT_GE(offset.most, 0ns);
    EXPECT_LE(std::chrono::abs(offset.middle()), offset.uncertainty());
}

TEST(ClockOffset, NeedsTheHub)
{
    HubAddress address = RankHub().address(); // which has ended
    address.hosts = {"127.0.0.1"};
    EXPECT_THROW(measureClockOffset(address), Error);
}

} // namespace tilescope::rendezvous
