#include "core/query/memory/memory_history.h"
#include "core/query/memory/memory_tables.h"
#include "tests/unit/exchange/snapshot_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;

TEST_F(Snapshot, RealOneHasTheTotalsThatPyTorchCounted)
{
    ImportedSnapshot snapshot;
    const RunId run = importSnapshotFile(realSnapshot(), folder / "t.tscope", &snapshot);
    // As torch.cuda.memory_stats counted when it was written.
    EXPECT_EQ(snapshot.trace.allocEvents.size(), 2684u);
    EXPECT_EQ(snapshot.segments, 39);
    EXPECT_EQ(snapshot.blocks, 128);
    EXPECT_EQ(snapshot.reserved, Bytes{1044381696});
    EXPECT_EQ(snapshot.facts.readings.at(0).allocated, 926824960);
    EXPECT_TRUE(snapshot.trace.losses.empty()) << "every event fits the segments";

    const store::RunReader reader(folder / "t.tscope");
    EXPECT_EQ(reader.run(run)->startedUnixNs, 1795258298467365000);
    const auto live = query::liveMemory(reader, {}, reader.span(run)->second - reader.span(run)->first);
    EXPECT_EQ(live.allocated, snapshot.allocated) << "following the events leads to the blocks at their end";
    EXPECT_EQ(live.untraced, Bytes{});
    EXPECT_EQ(live.blocks.size(), 128u);
    const auto history = query::memoryHistory(reader, run);
    EXPECT_EQ(history->segmentsAt(history->length).inconsistent(), 0);
    EXPECT_EQ(history->segmentsAt(history->length).use().reserved(), 1044381696);
    const auto convert = std::ranges::find_if(history->blocks, [&](const query::MemoryLife& block) {
        return history->text(block.op) == "convert";
    });
    ASSERT_NE(convert, history->blocks.end());
    EXPECT_THAT(std::string(history->text(convert->path)), HasSubstr("train.py:96:<module>/train.py:49:lm/"));
}

TEST_F(Snapshot, RealOneComesBackAsItWas)
{
    importSnapshotFile(realSnapshot(), folder / "t.tscope");
    const std::string again = exported(folder / "t.tscope");
    StringTable strings;
    const ImportedSnapshot first =
        importSnapshot(PickleDocument(fileText(realSnapshot()), "a"), "a", strings);
    const ImportedSnapshot second = importSnapshot(PickleDocument(again, "b"), "b", strings);
    ASSERT_EQ(second.trace.allocEvents.size(), first.trace.allocEvents.size());
    for (std::size_t i = 0; i < first.trace.allocEvents.size(); ++i) {
        const AllocEvent& a = first.trace.allocEvents[i];
        const AllocEvent& b = second.trace.allocEvents[i];
        ASSERT_TRUE(a.action == b.action && a.address == b.address && a.bytes == b.bytes &&
                    a.path == b.path && a.time == b.time && a.allocated == b.allocated &&
                    a.reserved == b.reserved)
            << i;
    }
    EXPECT_EQ(second.facts.blocks, first.facts.blocks);
    EXPECT_EQ(second.facts.segments, first.facts.segments);
    EXPECT_EQ(second.facts.readings, first.facts.readings);
}

TEST_F(Snapshot, ExportShowsSegmentsAtTheEndAndTheEventsUntilThen)
{
    SnapshotFigures figures;
    const PickleDocument document(exported(gpuRun(), {}, &figures), "x");
    EXPECT_EQ(figures.events, 4);
    EXPECT_EQ(figures.allocated, Bytes{4 * kMiB + 700});
    EXPECT_EQ(figures.reserved, Bytes{20 * kMiB});
    EXPECT_EQ(figures.inconsistent, 0);
    const PickleValue segment = document.items(*document.find(document.root(), "segments"))[0];
    const auto field = [&](const PickleValue& dict, const char* key) {
        return PickleDocument::integer(*document.find(dict, key)).value_or(-1);
    };
    EXPECT_EQ(field(segment, "total_size"), 20 * kMiB);
    EXPECT_EQ(field(segment, "allocated_size"), 4 * kMiB + 1024) << "rounded";
    EXPECT_EQ(field(segment, "requested_size"), 4 * kMiB + 700);
    EXPECT_EQ(PickleDocument::integer(document.items(*document.find(segment, "segment_pool_id"))[0]), 3);
    const auto blocks = document.items(*document.find(segment, "blocks"));
    ASSERT_EQ(blocks.size(), 4u);
    std::int64_t size = 0;
    for (const PickleValue& block : blocks)
        size += field(block, "size");
    EXPECT_EQ(size, 20 * kMiB);
    EXPECT_EQ(document.text(*document.find(blocks[0], "state")), "active_allocated");
    EXPECT_EQ(document.text(*document.find(blocks[1], "state")), "inactive");
    const PickleValue holder = document.items(*document.find(blocks[0], "frames"))[0];
    EXPECT_EQ(document.text(*document.find(holder, "name")), "layers.0/ffn/down [1024, 1024] f32");
    EXPECT_EQ(document.text(*document.find(holder, "filename")), "parameters");

    const PickleValue trace = document.items(*document.find(document.root(), "device_traces"))[0];
    const PickleValue alloc = document.items(trace)[0];
    EXPECT_EQ(document.text(*document.find(alloc, "action")), "alloc");
    EXPECT_EQ(document.text(*document.find(alloc, "user_metadata")), "activations");
    // As PyTorch's own reader writes a frame, but for its cutting folders off.
    std::vector<std::string> frames;
    for (const PickleValue& frame : document.items(*document.find(alloc, "frames")))
        frames.push_back(std::string(document.text(*document.find(frame, "filename"))) + ":" +
                         std::to_string(field(frame, "line")) + ":" +
                         std::string(document.text(*document.find(frame, "name"))));
    EXPECT_EQ(frames, (std::vector<std::string>{
                          "step/forward/attention:0:aten::mm",
                          "core/engine/lm/lm.cpp:199:tilescope::engine::LanguageModel::attend",
                          "step/forward:0:attention",
                          "core/engine/run/point_run.cpp:300:tilescope::engine::PointRun::execute",
                          "step:0:forward", "tilescope:0:step"}))
        << "the place of `step` is not known";
}

TEST_F(Snapshot, SegmentsOfARunThatBeganWithNothingFollowFromItsEvents)
{
    FakeTrace trace;
    trace.step(0, 1000, 2000);
    TraceBatch batch = trace.batch();
    const AllocEvent segment{.time = timestampAt(1001),
                             .action = AllocAction::SegmentAlloc,
                             .device = DeviceIndex{0},
                             .address = kSegment,
                             .bytes = 20 * kMiB,
                             .reserved = 20 * kMiB};
    AllocEvent block = segment;
    block.time = timestampAt(1002);
    block.action = AllocAction::Alloc;
    block.bytes = 4 * kMiB;
    block.allocated = 4 * kMiB;
    batch.allocEvents = {segment, block};
    {
        store::RunWriter writer(folder / "new.tscope", trace.strings());
        writer.beginRun({"lm", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(batch);
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }
    SnapshotFigures figures;
    exported(folder / "new.tscope", {}, &figures);
    EXPECT_EQ(figures.segments, 1);
    EXPECT_EQ(figures.reserved, Bytes{20 * kMiB}) << "not what its one block takes";
    EXPECT_EQ(figures.allocated, Bytes{4 * kMiB});
    EXPECT_FALSE(figures.madeUpSegments);
    const auto history = query::memoryHistory(store::RunReader(folder / "new.tscope"), RunId{1});
    EXPECT_EQ(history->segmentsAt(history->length).use().reserved(), 20 * kMiB);
}

TEST_F(Snapshot, ExportOfThePeakEndsThere)
{
    SnapshotFigures figures;
    exported(gpuRun(), {.peak = true}, &figures);
    EXPECT_EQ(figures.events, 2);
    EXPECT_EQ(figures.allocated, Bytes{6 * kMiB + 600});
    EXPECT_EQ(figures.blocks, 3);
    exported(gpuRun(), {.at = Nanoseconds(2)}, &figures);
    EXPECT_EQ(figures.events, 1) << "the first event of the run is its step's";
}

TEST_F(Snapshot, OwnOneKeepsCategoriesRangesAndHolders)
{
    std::ofstream(folder / "own.pickle", std::ios::binary) << exported(gpuRun());
    importSnapshotFile(folder / "own.pickle", folder / "t.tscope");
    const store::RunReader reader(folder / "t.tscope");
    const auto live = query::liveMemory(reader, {}, {});
    ASSERT_EQ(live.blocks.size(), 3u);
    EXPECT_EQ(live.history->text(live.block(0).name), "layers.0/ffn/down [1024, 1024] f32");
    EXPECT_EQ(live.block(1).category, MemoryCategory::Activations);
    EXPECT_EQ(live.history->text(live.block(1).path), "step/forward/attention");
    EXPECT_EQ(live.history->text(live.block(1).op), "aten::mm");
    EXPECT_EQ(reader.memory(RunId{1}).places, store::RunReader(gpuRun()).memory(RunId{1}).places);
    EXPECT_EQ(reader.memory(RunId{1}).places.size(), 2u);
    EXPECT_EQ(query::memoryGroupsTable(reader, {}).rows.at(0).key, "parameters");
}

TEST_F(Snapshot, CpuRunGetsASegmentForEachBlockAndFreesInTwoParts)
{
    FakeTrace trace;
    trace.alreadyAllocated(5000).step(0, 1000, 2000);
    trace.alloc(0x9000, 300, 1002).onCpu();
    trace.alloc(0xa000, 200, 1003).onCpu();
    TraceBatch batch = trace.batch();
    AllocEvent freed = batch.allocEvents[0];
    freed.action = AllocAction::FreeCompleted;
    freed.time = timestampAt(1500);
    freed.allocated = 5200;
    batch.allocEvents.push_back(freed);
    {
        store::RunWriter writer(folder / "cpu.tscope", trace.strings());
        writer.beginRun({"lm", "lm", "{}", "h", "Tilescope test"});
        writer.write(batch);
        RunResult result;
        result.device = "cpu";
        writer.endRun(result);
    }
    SnapshotFigures figures;
    const std::string bytes = exported(folder / "cpu.tscope", {}, &figures);
    EXPECT_TRUE(figures.madeUpSegments);
    EXPECT_EQ(figures.unknown, Bytes{5000}) << "their holder is unknown";
    EXPECT_EQ(figures.allocated, Bytes{5200}) << "what the allocator counted";
    EXPECT_EQ(figures.segments, 2);
    const ImportedSnapshot snapshot = imported(bytes);
    ASSERT_EQ(snapshot.trace.allocEvents.size(), 4u);
    EXPECT_EQ(snapshot.trace.allocEvents[2].action, AllocAction::FreeRequested);
    EXPECT_EQ(snapshot.trace.allocEvents[3].action, AllocAction::FreeCompleted);
    EXPECT_EQ(snapshot.trace.allocEvents[3].allocated, 5200);
    EXPECT_EQ(snapshot.result.peakAllocated, Bytes{5500});
    EXPECT_EQ(snapshot.result.peakReserved, Bytes{5500})
        << "an allocator without segments reserves what it hands out";
}

TEST_F(Snapshot, RunWithoutMemoryIsNotExported)
{
    StringTable strings;
    {
        store::RunWriter writer(folder / "a.tscope", strings);
        writer.beginRun({"lm", "lm", "{}", "h", "Tilescope test"});
        writer.endRun({});
    }
    EXPECT_THROW(exported(folder / "a.tscope"), Error);
}

} // namespace tilescope::exchange
