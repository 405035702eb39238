#include "core/query/memory/memory_tables.h"

#include "core/analysis/time/path_glob.h"
#include "tests/support/fake_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using tilescope::testing::FakeMemory;

MemoryGroupsTable groupsOf(FakeMemory& memory, Grouping grouping = Grouping::Category)
{
    return memoryGroupsTable(store::RunReader(memory.file()), {.grouping = grouping});
}

/// The blocks allocated at this many nanoseconds after the first event, by address.
std::vector<std::uint64_t> liveAt(FakeMemory& memory, std::int64_t time)
{
    const LiveMemoryTable live = liveMemory(store::RunReader(memory.file()), {}, Nanoseconds(time));
    std::vector<std::uint64_t> addresses;
    for (std::size_t row = 0; row < live.blocks.size(); ++row)
        addresses.push_back(live.block(row).address);
    return addresses;
}

Bytes sumAtPeak(const MemoryGroupsTable& table)
{
    Bytes sum{};
    for (const MemoryGroupRow& row : table.rows)
        sum += row.held;
    return sum;
}

TEST(LiveMemory, CountsABlockUntilItsFreeIsAskedFor)
{
    FakeMemory memory;
    memory.unrecorded(7).alloc(1, 100, 10, "").alloc(2, 300, 20, "").free(1, 30);
    EXPECT_THAT(liveAt(memory, 0), ElementsAre(1u));
    EXPECT_THAT(liveAt(memory, 10), ElementsAre(2u, 1u)) << "the largest first";
    EXPECT_THAT(liveAt(memory, 20), ElementsAre(2u));
    const LiveMemoryTable live = liveMemory(store::RunReader(memory.file()), {}, Nanoseconds(20));
    EXPECT_EQ(live.allocated, Bytes{307});
    EXPECT_EQ(live.untraced, Bytes{7});
}

TEST(LiveMemory, AnAddressMayBeUsedAgain)
{
    FakeMemory memory;
    memory.alloc(1, 100, 10, "").free(1, 20).alloc(1, 40, 30, "");
    const LiveMemoryTable live = liveMemory(store::RunReader(memory.file()), {}, Nanoseconds(20));
    ASSERT_EQ(live.blocks.size(), 1u);
    EXPECT_EQ(live.block(0).bytes, 40);
}

TEST(LiveMemory, ABlockWhoseFreeWasNotRecordedEndsWhenItsAddressIsUsedAgain)
{
    FakeMemory memory;
    memory.alloc(1, 100, 10, "").alloc(1, 40, 20, "");
    EXPECT_THAT(liveAt(memory, 10), ElementsAre(1u));
    const LiveMemoryTable ever = everAllocated(store::RunReader(memory.file()), {});
    ASSERT_EQ(ever.blocks.size(), 2u);
    EXPECT_EQ(ever.block(0).bytes, 100);
    EXPECT_EQ(ever.block(0).end, ever.block(1).begin);
}

TEST(LiveMemory, KeepsTheRangesThatMatch)
{
    FakeMemory memory;
    memory.older(9, 10, "norm").alloc(1, 100, 10, "step/forward/ffn").alloc(2, 300, 20, "step/backward/ffn");
    const store::RunReader reader(memory.file());
    EXPECT_EQ(liveMemory(reader, {}, {}).blocks.size(), 3u);
    const LiveMemoryTable forward = liveMemory(reader, {.rangeGlob = "step/forward/**"}, {});
    ASSERT_EQ(forward.blocks.size(), 1u);
    EXPECT_EQ(forward.block(0).address, 1u);
    EXPECT_EQ(forward.allocated, Bytes{410}) << "of all ranges";
    EXPECT_THAT(everAllocated(reader, {.rangeGlob = "nowhere"}).blocks, IsEmpty());
}

TEST(MemoryGroupsTable, AddsUpToWhatTheAllocatorCounted)
{
    FakeMemory memory;
    memory.unrecorded(1000);
    memory.alloc(1, 100, 10, "", MemoryCategory::Gradients).alloc(2, 200, 20, "").free(2, 30);
    memory.alloc(3, 50, 40, "");
    const MemoryGroupsTable table = groupsOf(memory);
    EXPECT_EQ(table.allocated, Bytes{1300});
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_EQ(table.rows[0].key, "unattributed");
    EXPECT_EQ(table.rows[0].held, Bytes{1000});
    EXPECT_EQ(table.rows[1].key, "activations");
    EXPECT_EQ(table.rows[1].held, Bytes{200});
    EXPECT_EQ(table.rows[1].max, Bytes{200});
    EXPECT_EQ(table.rows[1].allocations, 2);
    EXPECT_EQ(sumAtPeak(table), table.allocated);
}

TEST(MemoryGroupsTable, UnknownBlocksThatAreFreedStayUnattributed)
{
    const tilescope::testing::TemporaryFolder folder;
    StringTable strings;
    tilescope::testing::FakeTrace trace(strings);
    trace.alreadyAllocated(1000).free(99, 400, 10).alloc(1, 700, 20).category("inputs");
    {
        store::RunWriter writer(folder / "a.tscope", strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
    }
    const MemoryGroupsTable table =
        memoryGroupsTable(store::RunReader(folder / "a.tscope"), {.grouping = Grouping::Category});
    EXPECT_EQ(table.allocated, Bytes{1300});
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(table.rows[0].key, "inputs");
    EXPECT_EQ(table.rows[0].held, Bytes{700});
    EXPECT_EQ(table.rows[1].key, "unattributed");
    EXPECT_EQ(table.rows[1].held, Bytes{600}) << "of the 1000 that existed before the trace";
}

/// A group's figures, by following every event of the file.
struct Group {
    std::int64_t live = 0;
    std::int64_t atPeak = 0;
    std::int64_t max = 0;
    std::int64_t allocations = 0;
    bool operator==(const Group&) const = default;
};

std::map<std::string, Group> bruteForce(const store::RunReader& reader, Grouping grouping)
{
    std::map<std::string, Group> groups;
    std::map<std::uint64_t, std::pair<std::string, std::int64_t>> live;
    std::int64_t peak = -1;
    for (const AllocEvent& event : reader.allocEvents({.run = RunId{1}})) {
        if (event.action == AllocAction::Alloc) {
            const std::string_view text = grouping == Grouping::Category ? reader.text(event.category)
                                          : event.path ? analysis::phaseOf(reader.text(event.path))
                                                       : std::string_view{};
            const std::string key(text.empty() ? kUnattributed : text);
            live[event.address] = {key, event.bytes};
            Group& group = groups[key];
            group.live += event.bytes;
            group.max = std::max(group.max, group.live);
            ++group.allocations;
        } else if (const auto block = live.find(event.address); block != live.end()) {
            groups[block->second.first].live -= block->second.second;
            live.erase(block);
        }
        if (event.allocated > peak) {
            peak = event.allocated;
            for (auto& [key, group] : groups)
                group.atPeak = group.live;
        }
    }
    for (auto& [key, group] : groups)
        group.live = 0;
    return groups;
}

TEST(MemoryGroupsTable, AgreesWithFollowingEveryBlock)
{
    for (const Grouping grouping : {Grouping::Category, Grouping::Phase})
        for (const std::uint32_t seed : {1U, 2U, 3U}) {
            FakeMemory memory;
            memory.random(3000, seed);
            std::map<std::string, Group> found;
            for (const MemoryGroupRow& row : groupsOf(memory, grouping).rows)
                found[row.key] = {0, row.held.count, row.max.count, row.allocations};
            EXPECT_EQ(found, bruteForce(store::RunReader(memory.file()), grouping)) << "seed " << seed;
        }
}

} // namespace
} // namespace tilescope::query
