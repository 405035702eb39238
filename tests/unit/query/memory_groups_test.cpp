#include "core/query/memory/memory_groups.h"

#include "core/model/text.h"
#include "core/query/memory/memory_reading.h"
#include "core/query/runs/grouping.h"
#include "tests/support/fake_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using tilescope::testing::FakeMemory;

constexpr std::int64_t kNow = 50;

TEST(MemoryGroups, DistinguishBlocksByPhaseAndKindOfModule)
{
    FakeMemory memory;
    memory.older(1, 100, "layers.0/ffn/down").older(2, 7, "");
    memory.alloc(10, 5, 10, "step/forward/layers.0/attention/qkv");
    memory.alloc(11, 6, 20, "step/backward/layers.1/attention");
    memory.alloc(12, 8, 30, "step/optimizer");
    memory.alloc(13, 9, 40, "");
    memory.alloc(14, 3, 41, "step/forward/Model/h.2/mlp/up");
    memory.alloc(15, 4, 42, "step/forward/Model/mlp/h.2");
    memory.alloc(16, 2, 43, "step/forward/Model/wte");
    const auto history = memory.history();
    const auto phases = memoryGroups(history, MemoryGrouping::Phase);
    const auto bytes = [&](const MemoryGroups& groups, std::string_view name) {
        const auto found = std::ranges::find(groups.names, name);
        return found == groups.names.end()
                   ? -1
                   : groups.at(static_cast<std::size_t>(found - groups.names.begin()), kNow);
    };
    EXPECT_EQ(bytes(*phases, kOlderGroup), 107);
    EXPECT_EQ(bytes(*phases, "forward"), 14);
    EXPECT_EQ(bytes(*phases, "loss"), 0);
    EXPECT_EQ(bytes(*phases, "backward"), 6);
    EXPECT_EQ(bytes(*phases, "optimizer"), 8);
    EXPECT_EQ(bytes(*phases, kNoPhaseGroup), 9);
    const auto modules = memoryGroups(history, MemoryGrouping::Module);
    EXPECT_EQ(bytes(*modules, "ffn"), 100)
        << "a tensor from before the trace belongs to the module in its name";
    EXPECT_EQ(bytes(*modules, "attention"), 11) << "of all layers";
    EXPECT_EQ(bytes(*modules, "mlp"), 3) << "behind the last number";
    EXPECT_EQ(bytes(*modules, "h"), 4) << "nothing is behind the number";
    EXPECT_EQ(bytes(*modules, "wte"), 2) << "behind the class of the outermost module";
    EXPECT_EQ(bytes(*modules, kOlderGroup), 7);
    EXPECT_EQ(bytes(*modules, kNoModuleGroup), 17);
    EXPECT_EQ(moduleOf(*history, history->blocks[2]), "layers.0/attention/qkv");
}

TEST(MemoryGroups, OfASnapshotAreTheFunctionsThatRequestedMemory)
{
    FakeMemory memory("snapshot");
    memory.alloc(10, 5, 10,
                 "main∕train.py:96:<module>/main∕model.py:24:forward/torch∕nn∕modules∕linear.py:134:forward");
    memory.alloc(
        11, 6, 20,
        "main∕train.py:96:<module>/main∕model.py:30:forward/??:0:at::_ops::mm::call(at::Tensor const&)");
    memory.alloc(12, 8, 30, "??:0:start_thread");
    const auto groups = memoryGroups(memory.history(), MemoryGrouping::Module);
    EXPECT_EQ(groups->names.at(groups->groupOf[0]), "model.py forward");
    EXPECT_EQ(groups->groupOf[1], groups->groupOf[0]) << "independent of the line";
    EXPECT_EQ(groups->names.at(groups->groupOf[2]), kNoModuleGroup);
}

TEST(MemoryGroups, WithoutCategoriesAreTheOpsThatAllocated)
{
    FakeMemory memory("trace");
    constexpr MemoryCategory kNone = MemoryCategory::Unattributed;
    memory.older(1, 100, "", kNone);
    memory.op("aten::mm", "").alloc(10, 50, 10, "", kNone).alloc(11, 5, 20, "", kNone);
    memory.op("aten::empty", "").alloc(12, 70, 30, "", kNone);
    const auto history = memory.history(MemoryParts::WithoutOps);
    EXPECT_EQ(defaultGrouping(*history), MemoryGrouping::Op);
    const auto groups = memoryGroups(history, MemoryGrouping::Op, {}, memory.ops(*history).get());
    EXPECT_THAT(groups->names, ElementsAre(kOlderGroup, "aten::empty", "aten::mm", kUnattributed))
        << "what allocated most comes first";
    EXPECT_EQ(groups->at(0, kNow), 100);
    EXPECT_EQ(groups->at(1, kNow), 70);
    EXPECT_EQ(groups->at(2, kNow), 55);
}

TEST(MemoryGroups, OpsBeyondTheNumberOfColoursShareAGroup)
{
    FakeMemory memory("trace");
    for (std::uint64_t i = 0; i < 60; ++i)
        memory.op("op" + std::to_string(i), "")
            .alloc(100 + i, static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(10 + i), "",
                   MemoryCategory::Unattributed);
    const auto history = memory.history();
    const auto groups = memoryGroups(history, MemoryGrouping::Op);
    EXPECT_LE(groups->names.size(), 24U);
    EXPECT_EQ(groups->names.at(groups->groupOf[59]), "op59") << "one of the largest";
    EXPECT_EQ(groups->names.at(groups->groupOf[0]), "other ops");
    std::int64_t sum = 0;
    for (std::size_t group = 0; group < groups->names.size(); ++group)
        sum += groups->at(group, history->length);
    EXPECT_EQ(sum, 60 * 61 / 2);
}

TEST(MemoryGroups, TheGroupingThatTellsMostIsThatOfWhatIsKnown)
{
    constexpr MemoryCategory kNone = MemoryCategory::Unattributed;
    FakeMemory own;
    own.alloc(1, 10, 10, "step/forward", kNone).alloc(2, 10, 20, "step/forward");
    EXPECT_EQ(defaultGrouping(*own.history()), MemoryGrouping::Category);
    FakeMemory withPhases("trace");
    withPhases.alloc(1, 10, 10, "step/forward", kNone).alloc(2, 10, 20, "step/backward/layers.1", kNone);
    EXPECT_EQ(defaultGrouping(*withPhases.history()), MemoryGrouping::Phase);
    FakeMemory withFewPhases("trace");
    withFewPhases.alloc(1, 10, 10, "", kNone).alloc(2, 10, 20, "step/backward/layers.1", kNone);
    EXPECT_EQ(defaultGrouping(*withFewPhases.history()), MemoryGrouping::Op);
    FakeMemory snapshot("snapshot");
    snapshot.alloc(1, 10, 10, "train.py:7:step", kNone);
    EXPECT_EQ(defaultGrouping(*snapshot.history()), MemoryGrouping::Module);
}

TEST(MemoryGroups, ModulesBeyondTheNumberOfColoursShareAGroup)
{
    FakeMemory memory;
    memory.older(1, 10, "lm_head").older(2, 20, "lm_head first moment", MemoryCategory::Optimizer);
    for (int i = 0; i < 60; ++i)
        memory.alloc(100 + static_cast<std::uint64_t>(i), 1, 10 + i,
                     "step/forward/module" + std::to_string(i));
    const auto history = memory.history();
    const auto groups = memoryGroups(history, MemoryGrouping::Module);
    EXPECT_LE(groups->names.size(), 26u);
    std::int64_t sum = 0;
    for (std::size_t group = 0; group < groups->names.size(); ++group) {
        sum += groups->at(group, history->length);
        if (groups->names[group] == "lm_head") {
            EXPECT_EQ(groups->at(group, history->length), 30) << "with its optimizer's state";
        }
    }
    EXPECT_EQ(sum, 90);
}

TEST(MemoryGroups, ColumnsShowTheMomentWithTheMost)
{
    FakeMemory memory;
    memory.alloc(1, 100, 10, "step/forward").alloc(2, 50, 20, "step/backward").free(2, 30).free(1, 90);
    const auto history = memory.history();
    const auto groups = memoryGroups(history, MemoryGrouping::Phase);
    std::vector<MemoryStack> columns(2);
    std::vector<std::int64_t> bytes(2 * groups->names.size());
    memoryStacks(*history, *groups, 5, 50, columns, bytes);
    EXPECT_EQ(columns[0].time, 10) << "from the first event";
    EXPECT_EQ(columns[0].allocated, 150);
    EXPECT_EQ(columns[1].allocated, 100);
    EXPECT_EQ(bytes[1], 100) << "forward, after older blocks";
    EXPECT_EQ(bytes[3], 50) << "backward, behind loss";
}

// Random blocks, some of them freed without a recorded allocation.
TEST(MemoryGroups, AddUpToTheAllocatorsCountAtEveryInstant)
{
    for (const MemoryGrouping grouping :
         {MemoryGrouping::Category, MemoryGrouping::Phase, MemoryGrouping::Module, MemoryGrouping::Op}) {
        FakeMemory memory;
        memory.unrecorded(5000).older(3, 700, "embedding").random(4000, 20'261'122);
        const auto history = memory.history();
        const auto groups = memoryGroups(history, grouping);
        ASSERT_EQ(groups->groupOf.size(), history->blocks.size());
        ASSERT_EQ(groups->curves.size(), groups->names.size());
        for (std::size_t i = 0; i < history->allocated.size(); ++i) {
            const std::int64_t time = history->allocated.time(i);
            std::vector<std::int64_t> summed(groups->names.size(), 0);
            for (std::size_t block = 0; block < history->blocks.size(); ++block)
                if (history->blocks[block].isAliveAt(time))
                    summed[groups->groupOf[block]] += history->blocks[block].bytes;
            std::int64_t sum = 0;
            for (std::size_t group = 0; group < summed.size(); ++group) {
                sum += groups->at(group, time);
                if (group != groups->rest) {
                    ASSERT_EQ(groups->at(group, time), summed[group])
                        << groups->names[group] << " at " << time;
                }
            }
            ASSERT_EQ(sum, history->allocated.at(time)) << "at " << time;
        }
    }
}

TEST(MemoryHistory, EveryStateOfTheAllocatorHasAnInstant)
{
    FakeMemory memory;
    memory.alloc(1, 10, 20, "").alloc(2, 500, 20, "").free(2, 20).alloc(3, 20, 20, "");
    const auto history = memory.history();
    EXPECT_EQ(history->allocated.at(history->peakTime), 510)
        << "after the second of four simultaneous events";
    EXPECT_THAT(history->aliveAt(history->peakTime), ElementsAre(1u, 0u));
}

TEST(MemoryReading, OpsAreReadSeparatelyFromTheBlocks)
{
    FakeMemory memory;
    memory.op("aten::mm", "f32[8]").alloc(1, 10, 20, "step/forward").op("aten::add", "").alloc(2, 20, 30, "");
    const auto history = memory.history(MemoryParts::WithoutOps);
    EXPECT_TRUE(history->events.empty()) << "not needed";
    ASSERT_EQ(history->blocks.size(), 2u);
    EXPECT_EQ(history->blocks[0].op, 0u);
    const auto ops = memory.ops(*history);
    EXPECT_EQ(ops->name(history->blocks[0].by), "aten::mm");
    EXPECT_EQ(ops->shapes(history->blocks[0].by), "f32[8]");
    EXPECT_EQ(ops->name(history->blocks[1].by), "aten::add");
    EXPECT_EQ(ops->name(OpId{77}), "");
    const auto whole = memory.history();
    EXPECT_EQ(whole->text(whole->blocks[0].op), "aten::mm");
}

TEST(MemoryReading, TheOutlineOfALongRunIsItsHistorysCurves)
{
    FakeMemory memory;
    memory.step(1, 0, 50'000).random(60'000, 7).step(2, 60'000, 900'000);
    const auto outline = memory.outline();
    const auto history = memory.history();
    ASSERT_TRUE(outline) << "60,000 events are a long run";
    EXPECT_TRUE(outline->blocks.empty());
    EXPECT_EQ(outline->device, history->device);
    EXPECT_EQ(outline->origin, history->origin);
    EXPECT_EQ(outline->allocated.value(outline->allocated.peak()),
              history->allocated.value(history->allocated.peak()));
    EXPECT_EQ(outline->peakTime, history->peakTime);
    for (std::int64_t time = outline->allocated.time(0); time < history->length; time += 997)
        ASSERT_EQ(outline->allocated.at(time), history->allocated.at(time)) << time;
    const std::vector<TimelineStep> steps = memory.steps(history->origin);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].step, 1);
    EXPECT_EQ(steps[1].start, 60'000 - (history->origin - timestampAt(0)).count());
}

} // namespace
} // namespace tilescope::query
