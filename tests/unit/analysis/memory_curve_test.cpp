#include "core/analysis/memory/memory_curve.h"

#include "core/analysis/stats/random.h"
#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

#include <map>

namespace tilescope::analysis {

namespace {

using tilescope::testing::FakeTrace;

constexpr DeviceIndex kGpu{0};

std::uint32_t byCategory(const AllocEvent& event)
{
    return event.category.value;
}

Bytes sumAtPeak(const MemoryGroups& groups)
{
    Bytes sum = groups.untraced;
    for (const MemoryGroup& group : groups.groups)
        sum += group.atPeak;
    return sum;
}

} // namespace

TEST(MemoryPeak, IsTheFirstHighestMomentOfTheDevice)
{
    FakeTrace trace;
    trace.alloc(1, 100, 10).alloc(2, 50, 20).free(2, 50, 30).alloc(3, 50, 40);
    const auto peak = memoryPeak(trace.batch().allocEvents, kGpu);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->time, timestampAt(20));
    EXPECT_EQ(peak->allocated, Bytes{150});
    EXPECT_EQ(peak->reserved, Bytes{250});
    EXPECT_FALSE(memoryPeak(trace.batch().allocEvents, DeviceIndex{3}));
}

TEST(MemoryPeak, TheMainDeviceIsTheOneThatUsedMost)
{
    FakeTrace trace;
    trace.alloc(1, 10, 10).onCpu().alloc(2, 500, 20);
    EXPECT_EQ(mainMemoryDevice(trace.batch().allocEvents), kGpu);
    EXPECT_FALSE(mainMemoryDevice({}));
}

TEST(LiveAt, CountsABlockUntilItsFreeIsRequested)
{
    FakeTrace trace;
    trace.alreadyAllocated(7).alloc(1, 100, 10).alloc(2, 300, 20).free(1, 100, 30);
    const auto& events = trace.batch().allocEvents;
    EXPECT_EQ(liveAt(events, kGpu, timestampAt(20)).blocks.size(), 2u);
    const LiveSet after = liveAt(events, kGpu, timestampAt(30));
    ASSERT_EQ(after.blocks.size(), 1u);
    EXPECT_EQ(after.blocks[0].address, 2u);
    EXPECT_EQ(after.blocks[0].bytes, Bytes{300});
    EXPECT_EQ(after.untraced, Bytes{7});
    EXPECT_TRUE(liveAt(events, kGpu, timestampAt(5)).blocks.empty());
}

TEST(LiveAt, AnAddressMayBeUsedAgain)
{
    FakeTrace trace;
    trace.alloc(1, 100, 10).free(1, 100, 20).alloc(1, 40, 30);
    const LiveSet live = liveAt(trace.batch().allocEvents, kGpu, timestampAt(30));
    ASSERT_EQ(live.blocks.size(), 1u);
    EXPECT_EQ(live.blocks[0].bytes, Bytes{40});
}

TEST(MemoryGroups, AddUpToTheAllocatorsTotal)
{
    FakeTrace trace;
    trace.alreadyAllocated(1000);
    trace.alloc(1, 100, 10).category("gradients").alloc(2, 200, 20).category("activations");
    trace.free(2, 200, 30).alloc(3, 50, 40).category("activations");
    const MemoryGroups groups = memoryGroups(trace.batch().allocEvents, kGpu, byCategory);
    EXPECT_EQ(groups.peak.allocated, Bytes{1300});
    EXPECT_EQ(groups.untraced, Bytes{1000});
    ASSERT_EQ(groups.groups.size(), 2u);
    EXPECT_EQ(groups.groups[0].group, trace.strings().intern("activations").value);
    EXPECT_EQ(groups.groups[0].atPeak, Bytes{200});
    EXPECT_EQ(groups.groups[0].max, Bytes{200});
    EXPECT_EQ(groups.groups[0].allocations, 2);
    EXPECT_EQ(sumAtPeak(groups), groups.peak.allocated);
}

TEST(MemoryGroups, OlderBlocksFreedDuringTheTraceStayUntraced)
{
    FakeTrace trace;
    trace.alreadyAllocated(1000).free(99, 400, 10).alloc(1, 100, 20).category("inputs");
    const MemoryGroups groups = memoryGroups(trace.batch().allocEvents, kGpu, byCategory);
    EXPECT_EQ(groups.peak.allocated, Bytes{700});
    EXPECT_EQ(groups.untraced, Bytes{600});
    EXPECT_EQ(sumAtPeak(groups), groups.peak.allocated);
}

TEST(MemoryGroups, AgreeWithFollowingEveryBlock)
{
    Random random(7);
    for (int trial = 0; trial < 200; ++trial) {
        FakeTrace trace;
        std::map<std::uint64_t, std::pair<std::int64_t, std::string>> live; // address to bytes and category
        std::map<std::string, std::int64_t> held;
        std::map<std::string, std::int64_t> atPeak;
        std::int64_t allocated = 0;
        std::int64_t peak = -1;
        for (int i = 0; i < 60; ++i) {
            const std::uint64_t address = random.below(12) + 1;
            if (const auto block = live.find(address); block != live.end()) {
                trace.free(address, block->second.first, i);
                allocated -= block->second.first;
                held[block->second.second] -= block->second.first;
                live.erase(block);
            } else {
                const auto bytes = static_cast<std::int64_t>(random.below(100) + 1);
                const std::string category(1, static_cast<char>('a' + random.below(3)));
                trace.alloc(address, bytes, i).category(category);
                allocated += bytes;
                held[category] += bytes;
                live[address] = {bytes, category};
            }
            if (allocated > peak) {
                peak = allocated;
                atPeak = held;
            }
        }
        const MemoryGroups groups = memoryGroups(trace.batch().allocEvents, kGpu, byCategory);
        EXPECT_EQ(groups.peak.allocated.count, peak) << "trial " << trial << " of seed 7";
        EXPECT_EQ(sumAtPeak(groups), groups.peak.allocated);
        for (const MemoryGroup& group : groups.groups)
            EXPECT_EQ(group.atPeak.count, atPeak[std::string(trace.strings().text(StringId{group.group}))]);
    }
}

} // namespace tilescope::analysis
