#include "core/exchange/export/kineto_export.h"

#include "core/base/error.h"
#include "core/exchange/export/kineto_words.h"
#include "core/exchange/import/importer.h"
#include "tests/unit/exchange/export_fixture.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::exchange {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class KinetoExporting : public Exporting {
protected:
    KinetoFigures exported(const fs::path& file, const std::string& name, const ExportOptions& options = {})
    {
        const store::RunReader reader(file);
        return writeKineto(folder / name, reader, runOf(reader), options);
    }

    static std::vector<json> eventsOf(const json& trace, std::string_view category)
    {
        std::vector<json> found;
        for (const json& event : trace.at("traceEvents"))
            if (event.value("cat", "") == category)
                found.push_back(event);
        return found;
    }

    static std::string inflated(const fs::path& file)
    {
        gzFile in = gzopen(file.c_str(), "rb");
        std::string text;
        std::array<char, 4096> part{};
        for (int got = 0; (got = gzread(in, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(got));
        EXPECT_EQ(gzclose(in), Z_OK);
        return text;
    }

    /// Kernels, nanoseconds and busy nanoseconds of a run.
    static std::array<std::int64_t, 3> figuresOf(const store::RunReader& reader, RunId run)
    {
        std::vector<DeviceEvent> events = reader.deviceEvents({.run = run});
        std::array<std::int64_t, 3> figures{};
        std::map<DeviceIndex, Timestamp> covered;
        for (const DeviceEvent& event : events) {
            figures[0] += event.kind == DeviceEventKind::Kernel ? 1 : 0;
            figures[1] += (event.end - event.start).count();
            const auto [until, isNew] = covered.try_emplace(event.device, event.start);
            const Timestamp from = std::max(event.start, until->second);
            if (event.end > from) {
                figures[2] += (event.end - from).count();
                until->second = event.end;
            }
        }
        return figures;
    }
};

TEST_F(KinetoExporting, WritesATraceForEachRank)
{
    const KinetoFigures figures = exported(twoRanks(), "x.json");
    EXPECT_THAT(figures.files, ElementsAre(folder / "x_rank0.json", folder / "x_rank1.json"));
    EXPECT_EQ(figures.gpuEvents, 4);
    EXPECT_FALSE(fs::exists(folder / "x.json"));
    const json trace = json::parse(textOf(folder / "x_rank1.json"));
    EXPECT_EQ(trace.at("distributedInfo").at("rank"), 1);
    EXPECT_EQ(trace.at("distributedInfo").at("world_size"), 2);
    const json kernel = eventsOf(trace, "kernel").at(0);
    EXPECT_EQ(kernel.at("name"), kHostileNameWritten);
    EXPECT_EQ(kernel.at("args").at("correlation"), 5) << "the number of the process";
    EXPECT_EQ(kernel.at("args").at("stream"), 7);
    EXPECT_EQ(kernel.at("args").at("device"), 0);
    EXPECT_EQ(kernel.at("args").at("grid"), json({3, 2, 1}));
    EXPECT_EQ(kernel.at("args").at("Collective name"), "allreduce");
    EXPECT_EQ(kernel.at("args").at("In msg nelems"), 32);
    EXPECT_EQ(kernel.at("args").at("Seq"), 4);
    const json op = eventsOf(trace, "cpu_op").at(0);
    EXPECT_EQ(op.at("args").at("Input Dims"), json::parse("[[4, 8], []]"));
    EXPECT_EQ(op.at("args").at("Input type"), json({"c10::BFloat16", "float"}));
    EXPECT_EQ(op.at("args").at("External id"), kernel.at("args").at("External id"));
    EXPECT_EQ(eventsOf(trace, "user_annotation").at(0).at("name"), "ProfilerStep#3");
    EXPECT_EQ(eventsOf(trace, "cuda_sync").at(0).at("args").at("cuda_sync_kind"), "Stream Sync");
    EXPECT_EQ(eventsOf(trace, "cpu_instant_event").at(1).at("args").at("Bytes"), -512);
    EXPECT_EQ(eventsOf(trace, "ac2g").size(), 4U) << "two arrows of two halves";
}

TEST_F(KinetoExporting, IsReadBackWithTheSameFigures)
{
    for (const std::string ending : {".json", ".json.gz"}) {
        const fs::path original = twoRanks();
        const KinetoFigures figures = exported(original, "back" + ending);
        const fs::path again = folder / ("again" + ending + ".tscope");
        const ImportResult imported = importFiles(figures.files, again);
        const store::RunReader before(original);
        const store::RunReader after(again);
        EXPECT_EQ(figuresOf(before, RunId{1}), figuresOf(after, imported.run));
        const store::EventCounts first = before.counts(RunId{1});
        const store::EventCounts second = after.counts(imported.run);
        EXPECT_EQ(first.ranges, second.ranges);
        EXPECT_EQ(first.ops, second.ops);
        EXPECT_EQ(first.apiCalls, second.apiCalls);
        EXPECT_EQ(first.frames, second.frames);
        EXPECT_EQ(first.allocEvents, second.allocEvents);
        EXPECT_EQ(before.waits(RunId{1}).size(), after.waits(imported.run).size());
        EXPECT_EQ(after.collectives(imported.run).size(), 2U);
        EXPECT_EQ(after.collectives(imported.run).at(0).bytes, 64);
        const auto kernels = after.deviceEvents({.run = imported.run});
        EXPECT_EQ(after.text(kernels.at(0).name), kHostileNameWritten);
        EXPECT_EQ(kernels.at(0).step, 3);
        EXPECT_TRUE(kernels.at(0).op);
        EXPECT_EQ(after.topology(imported.run).processes.at(1).rank, 1);
        EXPECT_TRUE(after.losses(imported.run).empty());
        fs::remove(original);
    }
}

TEST_F(KinetoExporting, ACollectiveOfACpuIsNoOp)
{
    const fs::path original = folder / "cpu.tscope";
    testing::FakeTrace trace;
    trace.step(0, 1000, 2000).op("aten::mm", 1100, 1400);
    TraceBatch batch = trace.batch();
    Collective collective;
    collective.op = trace.strings().intern("all_reduce");
    collective.thread = batch.ops.front().thread;
    collective.bytes = 64;
    collective.start = at(1500);
    collective.end = at(1900);
    batch.collectives.push_back(collective);
    {
        store::RunWriter writer(original, trace.strings());
        writer.beginRun({"x", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(batch);
        writer.endRun({});
    }
    const KinetoFigures figures = exported(original, "cpu.json");
    const fs::path again = folder / "cpu-again.tscope";
    const ImportResult imported = importFiles(figures.files, again);
    const store::RunReader after(again);
    EXPECT_EQ(after.counts(imported.run).ops, 1) << "its time is not that of a further op";
    ASSERT_EQ(after.collectives(imported.run).size(), 1U);
    EXPECT_EQ(after.collectives(imported.run).front().end - after.collectives(imported.run).front().start,
              Nanoseconds(400));
}

TEST_F(KinetoExporting, CountersAreReadBack)
{
    const fs::path original = folder / "counters.tscope";
    testing::FakeTrace trace;
    trace.step(0, 1000, 2000).kernel("gemm", 1100, 1900);
    const auto point = [](std::int64_t time, std::int64_t value) { return CounterPoint{at(time), value}; };
    const std::vector<CounterTrack> tracks{
        {.name = "Power",
         .unit = "W",
         .device = DeviceIndex{0},
         .end = at(2000),
         .points = {point(1000, 412'345), point(1500, 300'000)}},
        {.name = "Queue", .end = at(2000), .points = {point(1200, -7'000)}}};
    {
        store::RunWriter writer(original, trace.strings());
        writer.beginRun({"x", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(trace.batch());
        writer.writeCounterTracks(tracks);
        writer.endRun({});
    }
    const KinetoFigures figures = exported(original, "counters.json");
    EXPECT_EQ(figures.readings, 3);
    const fs::path again = folder / "counters-again.tscope";
    const ImportResult imported = importFiles(figures.files, again);
    const store::RunReader after(again);
    const std::vector<CounterTrack> read = after.counterTracks(imported.run);
    const Timestamp first = after.span(imported.run)->first;
    ASSERT_EQ(read.size(), tracks.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].name, tracks[i].name);
        EXPECT_EQ(read[i].unit, tracks[i].unit);
        EXPECT_EQ(read[i].device, tracks[i].device);
        ASSERT_EQ(read[i].points.size(), tracks[i].points.size());
        for (std::size_t p = 0; p < read[i].points.size(); ++p) {
            EXPECT_EQ(read[i].points[p].value, tracks[i].points[p].value);
            EXPECT_EQ(read[i].points[p].time - first, tracks[i].points[p].time - at(1000));
        }
    }
}

TEST_F(KinetoExporting, TakesTheMemoryOfRanksApart)
{
    const fs::path original = folder / "memory.tscope";
    TraceBuilder builder;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        const ProcessIndex process = builder.addProcess({.pid = 100 + rank, .rank = rank, .worldSize = 2});
        builder.thread(process, 9, "loader");
        const ThreadId thread = builder.thread(process, 11, "main");
        builder.addRange(thread, "ProfilerStep#3", at(1000), at(2000), SpanKind::Step);
        builder.addRange(thread, "Optimizer.step#SGD.step", at(1050), at(1950));
        const std::int64_t bytes = 64 * (rank + 1);
        builder.addAllocation(
            thread, {.time = at(1100 + rank), .address = 0x7000, .bytes = bytes, .allocated = bytes});
        builder.addAllocation(
            thread, {.time = at(1200 + rank), .address = 0x8000, .bytes = 1, .allocated = bytes + 1});
        builder.addAllocation(thread, {.time = at(1300 + rank),
                                       .action = AllocAction::FreeCompleted,
                                       .address = 0x7000,
                                       .bytes = bytes,
                                       .allocated = 1});
    }
    builder.finish({.name = "x", .format = "test"}, original, {});
    const KinetoFigures figures = exported(original, "memory.json");
    const json trace = json::parse(textOf(folder / "memory_rank1.json"));
    const std::vector<json> instants = eventsOf(trace, "cpu_instant_event");
    ASSERT_EQ(instants.size(), 3U);
    EXPECT_EQ(instants[0].at("args").at("Total Allocated"), 128) << "of its rank";
    EXPECT_EQ(instants[0].at("args").at("Addr"), 0x7000);
    EXPECT_EQ(instants[1].at("args").at("Total Allocated"), 129);
    EXPECT_EQ(instants[2].at("args").at("Total Allocated"), 1);
    EXPECT_EQ(instants[0].at("tid"), 11) << "the thread of the steps";
    const ImportResult imported = importFiles(figures.files, folder / "again.tscope");
    const store::RunReader before(original);
    const store::RunReader after(folder / "again.tscope");
    const auto memoryOf = [](const store::RunReader& reader, RunId run) {
        std::vector<std::string> events;
        for (const AllocEvent& event : reader.allocEvents({.run = run}))
            events.push_back(std::to_string(event.address) + " " + std::to_string(event.allocated) + " " +
                             std::string(event.path ? reader.text(event.path) : ""));
        return events;
    };
    EXPECT_EQ(memoryOf(before, RunId{1}), memoryOf(after, imported.run));
}

TEST_F(KinetoExporting, CompressesWhatTheNameSays)
{
    const fs::path file = ownRun();
    exported(file, "x.json");
    exported(file, "x.json.gz");
    json plain = json::parse(textOf(folder / "x.json"));
    json zipped = json::parse(inflated(folder / "x.json.gz"));
    EXPECT_EQ(zipped.at("traceName"), "x.json.gz");
    plain.erase("traceName");
    zipped.erase("traceName");
    EXPECT_EQ(plain, zipped);
}

TEST_F(KinetoExporting, StandsInForLaunchesWithoutCalls)
{
    const fs::path file = ownRun();
    const KinetoFigures figures = exported(file, "x.json");
    EXPECT_EQ(figures.launches, 2);
    EXPECT_EQ(figures.leftOut, 1) << "the end of a free on a GPU";
    const json trace = json::parse(textOf(folder / "x.json"));
    EXPECT_FALSE(trace.contains("distributedInfo"));
    const std::vector<json> calls = eventsOf(trace, "cuda_runtime");
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].at("name"), "cudaLaunchKernel");
    EXPECT_EQ(calls[0].at("dur"), 0);
    EXPECT_EQ(calls[0].at("args").at("correlation"), 1);
    const auto base = trace.at("baseTimeNanoseconds").get<std::int64_t>();
    const store::RunReader reader(file);
    const store::RunRecord run = runOf(reader);
    EXPECT_EQ(base, run.startedUnixNs + (reader.span(run.run)->first - run.clockOrigin).count());
    EXPECT_THAT(textOf(folder / "x.json"), HasSubstr(R"("ts": 0.030, "dur": 0.000)")) << "1030 ns after 1000";
}

TEST_F(KinetoExporting, LeavesOutWhoRecorded)
{
    const fs::path file = twoRanks();
    exported(file, "x.json");
    const std::string anonymous = textOf(folder / "x_rank0.json");
    for (const char* secret : {"secret-host", "ada/"})
        EXPECT_THAT(anonymous, Not(HasSubstr(secret)));
    EXPECT_THAT(anonymous, HasSubstr(kHomeNameWritten));
    exported(file, "x.json", {.withIdentity = true});
    for (const std::string_view secret : {std::string_view("secret-host"), kHomeName})
        EXPECT_THAT(textOf(folder / "x_rank0.json"), HasSubstr(secret));
}

TEST_F(KinetoExporting, LeavesNothingBehindAnError)
{
    const fs::path file = twoRanks();
    fs::create_directory(folder / "x_rank1.json");
    EXPECT_THROW(exported(file, "x.json"), Error);
    EXPECT_FALSE(fs::exists(folder / "x_rank0.json"));
}

TEST(KinetoWords, MicrosecondsAreExact)
{
    std::string text;
    for (const std::int64_t ns :
         {std::int64_t{0}, std::int64_t{7}, std::int64_t{1'000}, std::int64_t{4'525'974'680'813'322}})
        appendMicroseconds(text += ' ', ns);
    EXPECT_EQ(text, " 0.000 0.007 1.000 4525974680813.322");
}

TEST(KinetoWords, ShapesAreLists)
{
    EXPECT_EQ(kinetoInputs("bf16[4, 8] [3]"),
              R"("Input Dims": [[4, 8], [3]], "Input type": ["c10::BFloat16", ""])");
    EXPECT_EQ(kinetoInputs(""), "");
    EXPECT_EQ(kinetoInputs("f32[4"), "");
    EXPECT_EQ(kinetoInputs("]["), "");
    EXPECT_EQ(kinetoInputs("f32[\"x\"]"), "");
}

} // namespace
} // namespace tilescope::exchange
