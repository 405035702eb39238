#include "core/base/error.h"
#include "core/exchange/pickle_writer.h"
#include "core/exchange/snapshot_export.h"
#include "core/exchange/snapshot_import.h"
#include "core/query/event_tables.h"
#include "core/query/memory_history.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>

namespace tilescope::exchange {

namespace {

using testing::FakeTrace;
using ::testing::HasSubstr;

std::string fileText(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Three training steps as torch.cuda.memory._dump_snapshot wrote them on a GPU.
std::filesystem::path realSnapshot()
{
    return std::string(TILESCOPE_SOURCE_DIR) + "/tests/data/memory_small2_train.pickle";
}

ImportedSnapshot imported(const std::string& bytes)
{
    StringTable strings;
    return importSnapshot(PickleDocument(bytes, "x.pickle"), "x", strings);
}

/// Why a snapshot is not taken; empty where it is.
std::string refusalOf(const std::string& bytes)
{
    try {
        imported(bytes);
    } catch (const Error& error) {
        return error.sentence();
    }
    return {};
}

/// A pickle that is written so.
std::string built(const std::function<void(PickleWriter&)>& build)
{
    std::ostringstream out;
    PickleWriter writer(out);
    build(writer);
    writer.finish();
    return out.str();
}

constexpr std::uint64_t kSegment = 0x10'0000;
constexpr std::int64_t kMiB = 1 << 20;

/// A segment of 20 MiB with a parameter of 4 MiB; a step allocates 2 MiB in attention and frees it.
void recordGpuRun(const std::filesystem::path& file)
{
    FakeTrace trace;
    trace.alreadyAllocated(4 * kMiB);
    trace.step(0, 1000, 2000).op("aten::mm", 1001, 1009).at("step/forward/attention");
    trace.alloc(kSegment + 4 * kMiB, 2 * kMiB - 100, 1002)
        .category("activations")
        .at("step/forward/attention");
    const OpId op = trace.lastOp();
    trace.alloc(kSegment + 6 * kMiB, 700, 1003).category("temporaries");
    trace.free(kSegment + 4 * kMiB, 2 * kMiB - 100, 1500);
    TraceBatch batch = trace.batch();
    batch.allocEvents[0].op = op;
    MemoryFacts facts;
    const Timestamp before = timestampAt(999);
    const DeviceIndex device{0};
    facts.segments.push_back({.time = before,
                              .device = device,
                              .address = kSegment,
                              .bytes = 20 * kMiB,
                              .pool = 3,
                              .isLarge = true});
    facts.blocks.push_back({.time = before,
                            .device = device,
                            .address = kSegment,
                            .bytes = 4 * kMiB,
                            .size = 4 * kMiB,
                            .category = MemoryCategory::Parameters,
                            .name = "layers.0/ffn/down",
                            .shape = "[1024, 1024]",
                            .dtype = "f32"});
    facts.blocks.push_back({.time = before,
                            .device = device,
                            .address = kSegment + 4 * kMiB,
                            .size = 16 * kMiB,
                            .isFree = true});
    facts.places = {
        {"step/forward", "core/engine/point_run.cpp", 300, "tilescope::engine::PointRun::execute"},
        {"step/forward/attention", "core/engine/lm.cpp", 199, "tilescope::engine::LanguageModel::attend"}};
    store::RunWriter writer(file, trace.strings());
    writer.beginRun({"lm", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
    writer.write(batch);
    writer.writeMemory(facts);
    RunResult result;
    result.device = "cuda:0";
    writer.endRun(result);
}

class Snapshot : public ::testing::Test {
protected:
    std::string exported(const std::filesystem::path& file, const SnapshotMoment& moment = {},
                         SnapshotFigures* figures = nullptr, RunId run = RunId{1}) const
    {
        std::ostringstream out;
        const SnapshotFigures written = writeSnapshot(out, store::RunReader(file), run, moment);
        if (figures)
            *figures = written;
        return out.str();
    }
    std::filesystem::path gpuRun() const
    {
        const std::filesystem::path file = folder / "gpu.tscope";
        if (!std::filesystem::exists(file))
            recordGpuRun(file);
        return file;
    }

    testing::TemporaryFolder folder;
};

} // namespace

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
    EXPECT_EQ(frames,
              (std::vector<std::string>{"step/forward/attention:0:aten::mm",
                                        "core/engine/lm.cpp:199:tilescope::engine::LanguageModel::attend",
                                        "step/forward:0:attention",
                                        "core/engine/point_run.cpp:300:tilescope::engine::PointRun::execute",
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
    EXPECT_EQ(live.name(0), "layers.0/ffn/down [1024, 1024] f32");
    const AllocEvent& event = live.from.events[live.blocks[1].event];
    EXPECT_EQ(live.from.text(event.category), "activations");
    EXPECT_EQ(live.from.text(event.path), "step/forward/attention");
    EXPECT_EQ(live.from.op(event.op), "aten::mm");
    EXPECT_EQ(reader.memory(RunId{1}).places, store::RunReader(gpuRun()).memory(RunId{1}).places);
    EXPECT_EQ(reader.memory(RunId{1}).places.size(), 2u);
    EXPECT_EQ(query::memoryGroups(reader, {}).rows.at(0).key, "parameters");
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
    EXPECT_EQ(figures.unknown, Bytes{5000}) << "nobody told who had them";
    EXPECT_EQ(figures.allocated, Bytes{5200}) << "what the allocator counted";
    EXPECT_EQ(figures.segments, 2);
    const ImportedSnapshot snapshot = imported(bytes);
    ASSERT_EQ(snapshot.trace.allocEvents.size(), 4u);
    EXPECT_EQ(snapshot.trace.allocEvents[2].action, AllocAction::FreeRequested);
    EXPECT_EQ(snapshot.trace.allocEvents[3].action, AllocAction::FreeCompleted);
    EXPECT_EQ(snapshot.trace.allocEvents[3].allocated, 5200);
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

TEST_F(Snapshot, CutOffAtAnyByteIsRefused)
{
    const std::string whole = exported(gpuRun());
    ASSERT_EQ(refusalOf(whole), "");
    for (std::size_t length = 0; length < whole.size(); ++length)
        ASSERT_NE(refusalOf(whole.substr(0, length)), "") << length;
    const std::string real = fileText(realSnapshot());
    for (std::size_t length = 0; length < real.size(); length += 7919)
        ASSERT_NE(refusalOf(real.substr(0, length)), "") << length;
}

TEST_F(Snapshot, WhatIsReferredToAgainAndAgainIsRefused)
{
    // One event a million times would be a file of two megabytes and a run of a hundred.
    const auto withEvents = [&](int times) {
        return built([&](PickleWriter& w) {
            w.beginDict();
            w.text("segments");
            w.beginList();
            w.endList();
            w.text("device_traces");
            w.beginList();
            w.beginList();
            w.beginDict();
            const PickleWriter::Memo event = w.remember();
            w.entry("action", "alloc");
            w.entry("addr", 4096);
            w.entry("size", 512);
            w.endDict();
            for (int i = 1; i < times; ++i)
                w.recall(event);
            w.endList();
            w.endList();
            w.endDict();
        });
    };
    EXPECT_EQ(refusalOf(withEvents(1)), "");
    EXPECT_EQ(refusalOf(withEvents(2)),
              "x.pickle, device 0, event 1: the file has it in another place already");
}

TEST_F(Snapshot, NeitherFlippedNorShuffledBytesDoHarm)
{
    const std::string whole = exported(gpuRun());
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    int taken = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = whole;
        for (std::size_t i = 0; i <= below(3); ++i)
            switch (below(4)) {
            case 0:
                bytes[below(bytes.size())] = static_cast<char>(random());
                break;
            case 1:
                bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
                break;
            case 2:
                bytes.erase(below(bytes.size() - 8), 1 + below(8));
                break;
            default:
                bytes.insert(below(bytes.size()), bytes.substr(below(bytes.size()), below(40)));
            }
        // Whatever comes out: a snapshot or a sentence.
        taken += refusalOf(bytes).empty() ? 1 : 0;
    }
    EXPECT_LT(taken, 20'000);
}

TEST_F(Snapshot, EveryByteMayBeAnyOpcode)
{
    const std::string whole = exported(gpuRun(), {.peak = true});
    for (std::size_t at = 0; at < whole.size(); at += 3)
        for (const char opcode :
             {'c', 'R', 'b', 'i', 'o', '\x81', '\x93', '(', '.', 'e', 'u', 'h', ']', '\x95'}) {
            std::string bytes = whole;
            bytes[at] = opcode;
            refusalOf(bytes);
        }
}

TEST_F(Snapshot, SharedListsDoNotMultiply)
{
    // A frame of 200 bytes, 5,000 times in one stack; that stack for each of 2,000 events.
    std::ostringstream out;
    PickleWriter writer(out);
    writer.beginDict();
    writer.text("segments");
    writer.beginList();
    writer.endList();
    writer.text("device_traces");
    writer.beginList();
    writer.beginList();
    for (int event = 0; event < 2000; ++event) {
        writer.beginDict();
        writer.entry("action", "alloc");
        writer.entry("addr", 512 * event);
        writer.entry("size", 512);
        writer.text("frames");
        writer.beginList();
        for (int frame = 0; frame < 5000; ++frame) {
            if (event == 0 && frame == 0) {
                writer.beginDict();
                writer.remember();
                writer.entry("name", std::string(200, 'x'));
                writer.entry("filename", "a.py");
                writer.entry("line", 1);
                writer.endDict();
            } else {
                // The first thing that was kept after the texts above it.
                writer.recall(8);
            }
        }
        writer.endList();
        writer.endDict();
    }
    writer.endList();
    writer.endList();
    writer.endDict();
    writer.finish();
    const ImportedSnapshot snapshot = imported(out.str());
    EXPECT_EQ(snapshot.trace.allocEvents.size(), 2000u);
    EXPECT_EQ(snapshot.trace.ops.size(), 1u) << "one stack";
}

TEST_F(Snapshot, WhatIsNoSnapshotIsRefusedWithAReason)
{
    EXPECT_THAT(refusalOf(built([](PickleWriter& w) { w.integer(3); })), HasSubstr("no memory snapshot"));
    EXPECT_THAT(refusalOf(built([](PickleWriter& w) {
                    w.beginList();
                    w.endList();
                })),
                HasSubstr("without any segment or event"));
    const auto withSegment = [&](std::int64_t total, std::int64_t size, const char* state) {
        return built([&](PickleWriter& w) {
            w.beginList();
            w.beginDict();
            w.entry("address", 4096);
            w.entry("total_size", total);
            w.text("blocks");
            w.beginList();
            w.beginDict();
            w.entry("size", size);
            w.entry("state", state);
            w.endDict();
            w.endList();
            w.endDict();
            w.endList();
        });
    };
    EXPECT_EQ(refusalOf(withSegment(2048, 2048, "active_allocated")), "") << "a list of segments is one";
    EXPECT_THAT(refusalOf(withSegment(2048, 1024, "inactive")), HasSubstr("its blocks come to 1024 bytes"));
    EXPECT_THAT(refusalOf(withSegment(2048, 2048, "gone")), HasSubstr("unknown state 'gone'"));
    EXPECT_THAT(refusalOf(withSegment(-1, -1, "inactive")), HasSubstr("no size in bytes"));
    EXPECT_THAT(refusalOf(withSegment(1LL << 60, 1LL << 60, "inactive")), HasSubstr("no size in bytes"));
}

TEST_F(Snapshot, RefusedOneLeavesNoRun)
{
    std::ofstream(folder / "bad.pickle", std::ios::binary) << "\x80\x02"
                                                           << "cos\nsystem\n.";
    EXPECT_THROW(importSnapshotFile(folder / "bad.pickle", folder / "t.tscope"), Error);
    EXPECT_FALSE(std::filesystem::exists(folder / "t.tscope"));
}

} // namespace tilescope::exchange
