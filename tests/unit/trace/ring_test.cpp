#include "core/trace/host/ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tilescope::trace {
namespace {

std::vector<int> drained(Ring<int>& ring)
{
    std::vector<int> records;
    ring.drain([&](int record) { records.push_back(record); });
    return records;
}

TEST(Ring, CountsWaitingRecords)
{
    Ring<int> ring(4);
    EXPECT_EQ(ring.size(), 0U);
    ring.push(1);
    ring.push(2);
    EXPECT_EQ(ring.size(), 2U);
    ring.drain([](int) {});
    EXPECT_EQ(ring.size(), 0U);
}

TEST(Ring, HandsOutRecordsOldestFirst)
{
    Ring<int> ring(8);
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(ring.push(i));
    EXPECT_EQ(drained(ring), (std::vector{0, 1, 2, 3, 4}));
    EXPECT_TRUE(drained(ring).empty());
}

TEST(Ring, KeepsWhatIsThereAndCountsWhatFindsNoRoom)
{
    Ring<int> ring(4);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(ring.push(i), i < 4);
    EXPECT_EQ(ring.dropped(), 6U);
    EXPECT_EQ(drained(ring), (std::vector{0, 1, 2, 3}));
    EXPECT_TRUE(ring.push(10));
    EXPECT_EQ(drained(ring), (std::vector{10}));
}

TEST(Ring, GoesRoundManyTimes)
{
    Ring<int> ring(4);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(ring.push(i));
        ASSERT_EQ(drained(ring), (std::vector{i}));
    }
    EXPECT_EQ(ring.dropped(), 0U);
}

TEST(Ring, RoundsItsCapacityUp)
{
    EXPECT_EQ(Ring<int>(5).capacity(), 8U);
    Ring<int> ring(16);
    ring.push(1);
    ring.resize(32);
    EXPECT_EQ(ring.capacity(), 32U);
    EXPECT_TRUE(drained(ring).empty());
}

/// A record that a torn read would give away.
struct Wide {
    std::uint64_t number = 0;
    std::uint64_t square = 0;
};

TEST(Ring, ProducerAndConsumerRunAtOnceWithoutLosingOrTearing)
{
    constexpr std::uint64_t kRecords = 300'000;
    Ring<Wide> ring(1024);
    std::uint64_t pushed = 0;
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < kRecords; ++i)
            pushed += ring.push({i, i * i});
    });
    std::uint64_t seen = 0;
    std::uint64_t next = 0;
    const auto take = [&](const Wide& record) {
        ASSERT_EQ(record.square, record.number * record.number);
        ASSERT_GE(record.number, next);
        next = record.number + 1;
        ++seen;
    };
    while (seen + ring.dropped() < kRecords)
        ring.drain(take);
    producer.join();
    EXPECT_EQ(seen, pushed);
    EXPECT_EQ(seen + ring.dropped(), kRecords);
}

} // namespace
} // namespace tilescope::trace
