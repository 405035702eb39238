#include "core/query/memory/memory_history.h"

#include "core/model/text.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using tilescope::testing::FakeTrace;
using tilescope::testing::TemporaryFolder;

constexpr std::size_t at(MemoryCategory category)
{
    return static_cast<std::size_t>(category);
}

/// The moment within a stretch of time at which the most is allocated, with the bytes of each category.
struct MemoryColumn {
    std::int64_t time = 0;
    std::array<std::int64_t, kMemoryCategories> bytes{};
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

/// \param count  stretches of `perColumn` nanoseconds, the first from `from` on
std::vector<MemoryColumn> memoryColumns(const MemoryHistory& history, double from, double perColumn,
                                        int count)
{
    std::vector<MemoryColumn> columns;
    for (int i = 0; i < count; ++i) {
        const double start = from + perColumn * i;
        MemoryColumn column{.time = history.allocated.highest(static_cast<std::int64_t>(start),
                                                              static_cast<std::int64_t>(start + perColumn))};
        column.allocated = history.allocated.at(column.time);
        column.reserved = history.reserved.at(column.time);
        for (std::size_t category = 0; category < kMemoryCategories; ++category)
            if (const StepCurve& curve = history.curves[category];
                !curve.empty() && column.time >= curve.time(0))
                column.bytes[category] = curve.at(column.time);
        columns.push_back(column);
    }
    return columns;
}

class MemoryHistoryTest : public ::testing::Test {
protected:
    std::shared_ptr<const MemoryHistory> written(const TraceBatch& batch, const MemoryFacts& facts = {})
    {
        {
            store::RunWriter writer(file, strings);
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            writer.write(batch);
            writer.writeMemory(facts);
            writer.endRun({});
        }
        return memoryHistory(store::RunReader(file), RunId{1});
    }

    static MemoryBlock older(std::uint64_t address, std::int64_t bytes, MemoryCategory category,
                             std::string name)
    {
        return {.time = timestampAt(1),
                .device = DeviceIndex{0},
                .address = address,
                .bytes = bytes,
                .size = bytes,
                .category = category,
                .name = std::move(name),
                .shape = "[2]"};
    }

    TemporaryFolder folder;
    std::filesystem::path file = folder / "a.tscope";
    StringTable strings;
};

} // namespace

TEST_F(MemoryHistoryTest, ContainsBlocksAndCategoriesAtAnyInstant)
{
    FakeTrace trace(strings);
    trace.alreadyAllocated(100).step(0, 10, 90);
    trace.op("aten::mm", 15, 25).shaped("f32[8]");
    trace.alloc(1, 40, 20).category("activations").at("step/forward");
    trace.alloc(2, 30, 40).category("temporaries").at("step/backward");
    trace.free(2, 30, 50);
    trace.free(1, 40, 70);
    TraceBatch batch = trace.batch();
    batch.allocEvents[0].op = trace.lastOp();
    for (std::size_t i = 2; i < batch.allocEvents.size(); ++i)
        batch.allocEvents[i].category = strings.intern(i < 4 ? "temporaries" : "activations");
    const auto history =
        written(batch, {.blocks = {older(7, 90, MemoryCategory::Parameters, "layers.0/ffn/down")}});

    ASSERT_EQ(history->blocks.size(), 3u);
    const MemoryLife& parameter = history->blocks[0];
    EXPECT_EQ(parameter.begin, MemoryLife::kBefore);
    EXPECT_EQ(parameter.end, MemoryLife::kAfter);
    EXPECT_EQ(history->text(parameter.name), "layers.0/ffn/down");
    const MemoryLife& activation = history->blocks[1];
    EXPECT_EQ(activation.begin, 10) << "from the run's first event";
    EXPECT_EQ(activation.end, 60);
    EXPECT_EQ(history->text(activation.path), "step/forward");
    EXPECT_EQ(history->text(activation.op), "aten::mm");
    EXPECT_EQ(history->text(activation.shape), "f32[8]");

    EXPECT_THAT(history->aliveAt(35), ElementsAre(0u, 1u, 2u)) << "the largest first";
    EXPECT_THAT(history->aliveAt(40), ElementsAre(0u, 1u)) << "freed at that very moment";
    EXPECT_THAT(history->aliveAt(0), ElementsAre(0u));
    EXPECT_EQ(history->peakTime, 30);

    const std::vector<MemoryColumn> columns = memoryColumns(*history, 0, 25, 3);
    EXPECT_EQ(columns[0].allocated, 140);
    EXPECT_EQ(columns[1].time, 30) << "the moment with the most";
    EXPECT_EQ(columns[1].allocated, 170);
    EXPECT_EQ(columns[1].bytes[at(MemoryCategory::Parameters)], 90);
    EXPECT_EQ(columns[1].bytes[at(MemoryCategory::Activations)], 40);
    EXPECT_EQ(columns[1].bytes[at(MemoryCategory::Temporaries)], 30);
    EXPECT_EQ(columns[1].bytes[at(MemoryCategory::Unattributed)], 10);
    EXPECT_EQ(columns[2].allocated, 140);
}

TEST_F(MemoryHistoryTest, ARunWithoutEventsIsEmptyAndACancelledReadingNull)
{
    FakeTrace trace(strings);
    trace.step(0, 10, 90);
    EXPECT_TRUE(written(trace.batch())->empty());
    EXPECT_EQ(memoryHistory(store::RunReader(file), RunId{1}, [] { return true; })->blocks.size(), 0u);
}

// Like steps replayed from a CUDA graph.
TEST_F(MemoryHistoryTest, BlocksOfARunThatAllocatesNothingStayUntilItsEnd)
{
    FakeTrace trace(strings);
    trace.step(0, 10, 90);
    MemoryFacts facts;
    facts.blocks = {older(0x10000000, 100, MemoryCategory::Parameters, "norm")};
    const auto history = written(trace.batch(), facts);
    EXPECT_EQ(history->origin, timestampAt(1));
    EXPECT_EQ(history->length, (store::RunReader(file).span(RunId{1})->second - timestampAt(1)).count());
    EXPECT_GE(history->length, (timestampAt(90) - timestampAt(1)).count());
    const std::vector<MemoryColumn> columns = memoryColumns(*history, 80, 5, 1);
    EXPECT_EQ(columns[0].allocated, 100);
    EXPECT_EQ(columns[0].bytes[at(MemoryCategory::Parameters)], 100);
}

TEST_F(MemoryHistoryTest, AStepWhoseFirstRequestFailsShowsTheBlocksThatExistedBefore)
{
    TraceBatch batch;
    batch.allocEvents.push_back(
        {.time = timestampAt(50), .action = AllocAction::Oom, .bytes = 4096, .allocated = 100});
    MemoryFacts facts;
    facts.blocks = {older(0x10000000, 100, MemoryCategory::Inputs, "q")};
    facts.blocks.front().device = {};
    const auto history = written(batch, facts);
    const std::int64_t failure = (timestampAt(50) - history->origin).count();
    EXPECT_EQ(history->allocated.at(failure), 100);
    ASSERT_EQ(history->aliveAt(failure).size(), 1u);
    EXPECT_EQ(history->text(history->blocks[history->aliveAt(failure).front()].name), "q");
}

TEST_F(MemoryHistoryTest, FragmentationFollowsFromTheSegments)
{
    constexpr std::int64_t kSegment = 2 << 20;
    FakeTrace trace(strings);
    trace.alreadyAllocated(100).step(0, 10, 90).alloc(0x10000200, 600, 20).category("temporaries");
    MemoryFacts facts;
    facts.segments = {
        {.time = timestampAt(1), .device = DeviceIndex{0}, .address = 0x10000000, .bytes = kSegment}};
    facts.blocks = {older(0x10000000, 100, MemoryCategory::Parameters, "norm"),
                    {.time = timestampAt(1),
                     .device = DeviceIndex{0},
                     .address = 0x10000200,
                     .size = kSegment - 512,
                     .isFree = true}};
    facts.blocks[0].size = 512;
    const auto history = written(trace.batch(), facts);
    const std::vector<MemoryColumn> columns = memoryColumns(*history, 10, 5, 1);
    EXPECT_EQ(columns[0].bytes[at(MemoryCategory::Fragmentation)], kSegment - 700);
    EXPECT_EQ(columns[0].bytes[at(MemoryCategory::ReservedFree)], 0);
    EXPECT_EQ(history->segmentsAt(5).use().requested, 100);
    EXPECT_EQ(history->segmentsAt(10).use().requested, 700);
    EXPECT_EQ(history->segmentsAt(10).inconsistent(), 0);
}

// Random blocks of random categories, compared with a walk through all events.
TEST_F(MemoryHistoryTest, ColumnsAndLivesAgreeWithABruteForce)
{
    constexpr std::uint32_t kSeed = 20'261'121;
    std::mt19937 random(kSeed);
    const std::vector<MemoryCategory> categories{MemoryCategory::Activations, MemoryCategory::Gradients,
                                                 MemoryCategory::Temporaries};
    FakeTrace trace(strings);
    trace.step(0, 0, 1'000'000);
    std::map<std::uint64_t, std::pair<std::int64_t, std::size_t>> live;
    TraceBatch batch;
    std::int64_t time = 0;
    for (int i = 0; i < 5000; ++i) {
        time += 1 + static_cast<std::int64_t>(random() % 5);
        const std::uint64_t address = 1 + random() % 300;
        if (const auto found = live.find(address); found != live.end()) {
            const auto [bytes, category] = found->second;
            trace.free(address, bytes, time).category(wordOf(categories[category]));
            live.erase(found);
        } else {
            const auto bytes = static_cast<std::int64_t>(1 + random() % 1000);
            const std::size_t category = random() % categories.size();
            trace.alloc(address, bytes, time).category(wordOf(categories[category]));
            live[address] = {bytes, category};
        }
    }
    const auto history = written(trace.batch());
    const double perColumn = static_cast<double>(history->length) / 400;
    const std::vector<MemoryColumn> columns = memoryColumns(*history, 0, perColumn, 400);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const MemoryColumn& column = columns[i];
        std::array<std::int64_t, kMemoryCategories> bytes{};
        std::int64_t highest = 0;
        for (const MemoryLife& block : history->blocks)
            if (block.isAliveAt(column.time))
                bytes[at(block.category)] += block.bytes;
        for (const AllocEvent& event : history->events) {
            const std::int64_t when = (event.time - history->origin).count();
            const double from = perColumn * static_cast<double>(i);
            if (when > static_cast<std::int64_t>(from) && when <= static_cast<std::int64_t>(from + perColumn))
                highest = std::max(highest, event.allocated);
        }
        ASSERT_EQ(column.bytes, bytes) << "seed " << kSeed << ", column " << i;
        ASSERT_GE(column.allocated, highest) << "seed " << kSeed << ", column " << i;
        std::int64_t sum = 0;
        for (const std::int64_t each : bytes)
            sum += each;
        ASSERT_EQ(column.allocated, sum) << "seed " << kSeed << ", column " << i;
        ASSERT_EQ(history->aliveAt(column.time).size(), static_cast<std::size_t>(std::ranges::count_if(
                                                            history->blocks, [&](const MemoryLife& block) {
                                                                return block.isAliveAt(column.time);
                                                            })));
    }
}

} // namespace tilescope::query
