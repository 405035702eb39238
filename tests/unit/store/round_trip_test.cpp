#include "core/base/error.h"
#include "core/model/memory.h"
#include "core/store/host_sample_reader.h"
#include "core/store/kernel_sample_reader.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/rows/event_rows.h"
#include "store_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tilescope::store {

using namespace testing;
using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Writes one run, so that each test shows only what it puts in and what comes out.
class RoundTrip : public ::testing::Test {
protected:
    template <class Fill> RunReader written(Fill&& fill, const RunResult& result = {})
    {
        {
            RunWriter writer(file, strings);
            run = writer.beginRun(header());
            fill(writer);
            writer.endRun(result);
        }
        return RunReader(file);
    }
    RunReader writtenBatch(const TraceBatch& batch)
    {
        return written([&batch](RunWriter& writer) { writer.write(batch); });
    }

    TemporaryFolder folder;
    std::filesystem::path file = folder / "a.tscope";
    StringTable strings;
    Builder make{strings};
    RunId run;
};

TEST_F(RoundTrip, KeepsARunWithAllThatIsKnownOfIt)
{
    RunResult result;
    result.status = RunStatus::Oom;
    result.reason = "asked for 8 GiB";
    result.device = "cuda:0";
    result.parameters = 128'625'408;
    result.beforeBackward = 5_MiB;
    result.peakAllocated = 7_MiB;
    result.peakReserved = 8_MiB;
    result.traceOverhead = 1.0;
    result.losses = {9.75, std::nullopt, 9.25};
    result.oom = OomInfo{.requested = 100_B, .allocated = {}, .reserved = 300_B, .phase = "forward"};
    result.flags = {"throttled", "busy \"host\""};
    result.duration = 1'500'000'000_ns;
    const RunReader reader = written([](RunWriter&) {}, result);

    const auto runs = reader.runs();
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].run, RunId{1});
    EXPECT_EQ(runs[0].uid.size(), 36u);
    EXPECT_EQ(runs[0].uid[14], '4');
    EXPECT_EQ(runs[0].name, "test");
    EXPECT_EQ(runs[0].workload, "attention");
    EXPECT_EQ(runs[0].specJson, R"({"workload":"attention"})");
    EXPECT_EQ(runs[0].specHash, "abc123");
    EXPECT_EQ(runs[0].program, "Tilescope test");
    const RunResult& read = runs[0].result;
    EXPECT_EQ(read.status, RunStatus::Oom);
    EXPECT_EQ(read.reason, "asked for 8 GiB");
    EXPECT_EQ(read.device, "cuda:0");
    EXPECT_EQ(read.parameters, 128'625'408);
    EXPECT_EQ(read.beforeBackward, 5_MiB);
    EXPECT_EQ(read.peakAllocated, 7_MiB);
    EXPECT_EQ(read.peakReserved, 8_MiB);
    EXPECT_EQ(read.traceOverhead, 1.0);
    EXPECT_THAT(read.losses, ElementsAre(9.75, std::nullopt, 9.25));
    EXPECT_EQ(read.finalLoss(), 9.25);
    ASSERT_TRUE(read.oom);
    EXPECT_EQ(read.oom->requested, 100_B);
    EXPECT_EQ(read.oom->allocated, std::nullopt);
    EXPECT_EQ(read.oom->reserved, 300_B);
    EXPECT_EQ(read.oom->phase, "forward");
    EXPECT_THAT(read.flags, ElementsAre("throttled", "busy \"host\""));
    EXPECT_EQ(read.duration, 1'500'000'000_ns);
}

TEST_F(RoundTrip, DistinguishesNotMeasuredFromZero)
{
    const RunReader reader = written([](RunWriter& writer) {
        const Sample samples[] = {{0, SampleKind::Warmup, Phase::Step, 10_ns, {}},
                                  {0, SampleKind::Measure, Phase::Backward, 20_ns, 0_ns}};
        writer.writeSamples(samples);
    });
    const auto samples = reader.samples(run);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_EQ(samples[0].kind, SampleKind::Warmup);
    EXPECT_EQ(samples[0].gpu, std::nullopt);
    EXPECT_EQ(samples[1].phase, Phase::Backward);
    EXPECT_EQ(samples[1].wall, 20_ns);
    EXPECT_EQ(samples[1].gpu, 0_ns);
    const RunResult result = reader.run(run)->result;
    EXPECT_EQ(result.parameters, std::nullopt);
    EXPECT_TRUE(result.losses.empty());
    EXPECT_FALSE(result.oom);
}

TEST_F(RoundTrip, KeepsAKernelWithEveryColumn)
{
    DeviceEvent kernel = make.kernel("void at::native::vectorized_add<float>(int)", 1000, 1800);
    kernel.path = make.text("step/forward");
    kernel.correlation = CorrelationId{77};
    kernel.range = RangeId{3};
    kernel.op = OpId{9};
    kernel.launchThread = ThreadId{4242};
    kernel.step = 2;
    kernel.graphNode = 5;
    kernel.launch = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, 10, 11, 12, 13};
    kernel.launched = make.at(400);
    TraceBatch batch;
    batch.deviceEvents = {kernel};
    const RunReader reader = writtenBatch(batch);

    const auto events = reader.deviceEvents({.run = run});
    ASSERT_EQ(events.size(), 1u);
    const DeviceEvent& read = events[0];
    EXPECT_EQ(read.kind, DeviceEventKind::Kernel);
    EXPECT_EQ(reader.text(read.name), "void at::native::vectorized_add<float>(int)");
    EXPECT_EQ(reader.text(read.path), "step/forward");
    EXPECT_EQ(read.device, DeviceIndex{0});
    EXPECT_EQ(read.stream, StreamId{7});
    EXPECT_EQ(read.correlation, CorrelationId{77});
    EXPECT_EQ(read.range, RangeId{3});
    EXPECT_EQ(read.op, OpId{9});
    EXPECT_EQ(read.launchThread, ThreadId{4242});
    EXPECT_EQ(read.step, 2);
    EXPECT_EQ(read.graphNode, 5u);
    EXPECT_EQ(read.launch, kernel.launch);
    EXPECT_EQ(read.launched, make.at(400));
    EXPECT_EQ(read.start, make.at(1000));
    EXPECT_EQ(read.end, make.at(1800));
}

TEST_F(RoundTrip, KeepsCopiesAndMemsetsAmongKernelsInStartOrder)
{
    DeviceEvent copy = make.kernel("[CUDA memcpy Host-to-Device]", 50, 60);
    copy.kind = DeviceEventKind::Memcpy;
    copy.copy = CopyKind::HostToDevice;
    copy.bytes = 4096;
    copy.launch = {};
    DeviceEvent set = copy;
    set.kind = DeviceEventKind::Memset;
    set.copy = CopyKind::None;
    set.start = make.at(5);
    set.end = make.at(6);
    TraceBatch batch;
    batch.deviceEvents = {set, make.kernel("k", 10, 20), copy, make.kernel("k", 55, 58)};
    const RunReader reader = writtenBatch(batch);

    const auto events = reader.deviceEvents({.run = run});
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].kind, DeviceEventKind::Memset);
    EXPECT_EQ(events[0].copy, CopyKind::None);
    EXPECT_EQ(events[1].kind, DeviceEventKind::Kernel);
    EXPECT_EQ(events[1].launched, Timestamp{});
    EXPECT_EQ(events[2].kind, DeviceEventKind::Memcpy);
    EXPECT_EQ(events[2].copy, CopyKind::HostToDevice);
    EXPECT_EQ(events[2].bytes, 4096);
    EXPECT_EQ(events[3].start, make.at(55));
}

TEST_F(RoundTrip, KeepsOpsRangesCallsAllocationsThreadsAndLosses)
{
    TraceBatch batch;
    Range outer = make.range(0, "step", 0, 100);
    outer.step = 1;
    Range inner = make.range(1, "step/forward", 10, 90);
    inner.parent = outer.id;
    batch.ranges = {outer, inner};
    Op op = make.op(4, "aten::mm", 20, 30);
    op.parent = OpId{3};
    op.shapes = make.text("[4, 8] [8, 4]");
    op.path = make.text("step/backward/block");
    op.range = RangeId{1};
    op.sequence = 0;
    op.scope = OpScope::Backward;
    batch.ops = {op};
    ApiCall call;
    call.name = make.text("cudaLaunchKernel");
    call.correlation = CorrelationId{8};
    call.kind = ApiKind::Launch;
    call.op = OpId{4};
    call.start = make.at(21);
    call.end = make.at(22);
    batch.apiCalls = {call};
    AllocEvent allocation = make.allocation(AllocAction::SegmentAlloc, 0xffff'8000'0000'0000ULL, 512, 25);
    allocation.allocated = 1024;
    allocation.reserved = 2048;
    allocation.pool = 3;
    allocation.category = make.text("activations");
    batch.allocEvents = {allocation};
    batch.threads = {{ThreadId{101}, make.text("main")}};
    batch.losses = {{make.text("ring_overflow"), LossSeverity::Error, 5, make.text("device 0")},
                    {make.text("ring_overflow"), LossSeverity::Error, 2, make.text("device 0")}};
    batch.recordsChecked = 123;
    const RunReader reader = writtenBatch(batch);

    const auto ranges = reader.ranges({.run = run});
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].id, RangeId{0});
    EXPECT_EQ(ranges[0].parent, RangeId::none());
    EXPECT_EQ(ranges[0].step, 1);
    EXPECT_EQ(ranges[1].parent, RangeId{0});
    EXPECT_EQ(ranges[1].step, kNoStep);
    EXPECT_EQ(reader.text(ranges[1].name), "forward");
    EXPECT_EQ(reader.text(ranges[1].path), "step/forward");
    EXPECT_EQ(ranges[1].end, make.at(90));

    const auto ops = reader.ops({.run = run});
    ASSERT_EQ(ops.size(), 1u);
    EXPECT_EQ(ops[0].id, OpId{4});
    EXPECT_EQ(ops[0].parent, OpId{3});
    EXPECT_EQ(reader.text(ops[0].shapes), "[4, 8] [8, 4]");
    EXPECT_EQ(reader.text(ops[0].path), "step/backward/block");
    EXPECT_EQ(ops[0].sequence, 0);
    EXPECT_EQ(ops[0].scope, OpScope::Backward);

    const auto calls = reader.apiCalls({.run = run});
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].kind, ApiKind::Launch);
    EXPECT_EQ(calls[0].correlation, CorrelationId{8});
    EXPECT_EQ(calls[0].op, OpId{4});

    const auto allocations = reader.allocEvents({.run = run});
    ASSERT_EQ(allocations.size(), 1u);
    EXPECT_EQ(allocations[0].action, AllocAction::SegmentAlloc);
    EXPECT_EQ(allocations[0].address, 0xffff'8000'0000'0000ULL);
    EXPECT_EQ(allocations[0].bytes, 512);
    EXPECT_EQ(allocations[0].allocated, 1024);
    EXPECT_EQ(allocations[0].reserved, 2048);
    EXPECT_EQ(allocations[0].pool, 3u);
    EXPECT_EQ(allocations[0].device, DeviceIndex::none());
    EXPECT_EQ(reader.text(allocations[0].category), "activations");

    const auto threads = reader.threads(run);
    ASSERT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads[0].thread, ThreadId{101});
    EXPECT_EQ(reader.text(threads[0].name), "main");

    const auto losses = reader.losses(run);
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_EQ(losses[0].kind, "ring_overflow");
    EXPECT_EQ(losses[0].severity, "error");
    EXPECT_EQ(losses[0].count, 7);
    EXPECT_EQ(losses[0].detail, "device 0");
    EXPECT_EQ(reader.recordsChecked(run), 123);
}

TEST_F(RoundTrip, NumbersEachRunsRangesAndOpsFromZero)
{
    TraceBatch batch;
    batch.ops = {make.op(0, "first", 0, 1), make.op(1, "second", 1, 2)};
    batch.ranges = {make.range(0, "step", 0, 2)};
    {
        RunWriter writer(file, strings);
        for (int i = 0; i < 2; ++i) {
            writer.beginRun(header());
            writer.write(batch);
            writer.endRun({});
        }
    }
    const RunReader reader(file);
    for (const RunId each : {RunId{1}, RunId{2}}) {
        const auto ops = reader.ops({.run = each});
        ASSERT_EQ(ops.size(), 2u);
        EXPECT_EQ(ops[0].id, OpId{0});
        EXPECT_EQ(ops[1].id, OpId{1});
        EXPECT_EQ(reader.text(ops[1].name), "second");
        EXPECT_EQ(reader.ranges({.run = each}).at(0).id, RangeId{0});
    }
}

TEST_F(RoundTrip, AWindowHoldsWhatOverlapsIt)
{
    TraceBatch batch;
    batch.ranges = {make.range(0, "long", 0, 1000), make.range(1, "before", 10, 100),
                    make.range(2, "into", 50, 101), make.range(3, "moment", 100, 100),
                    make.range(4, "after", 200, 300)};
    const RunReader reader = writtenBatch(batch);
    std::vector<std::string> names;
    for (const Range& range : reader.ranges({.run = run, .from = make.at(100), .to = make.at(200)}))
        names.emplace_back(reader.text(range.path));
    EXPECT_THAT(names, ElementsAre("long", "into", "moment"));
}

TEST_F(RoundTrip, LeavesOnePlainFile)
{
    writtenBatch({});
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        names.push_back(entry.path().filename());
    EXPECT_THAT(names, ElementsAre("a.tscope"));
}

TEST(ShortKernelName, IsTheFunctionsBareName)
{
    const std::pair<const char*, const char*> names[] = {
        {"void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>, std::array<char*, 3ul> "
         ">(int)",
         "vectorized_elementwise_kernel"},
        {"void cutlass::Kernel2<cutlass_80_tensorop_gemm<float, 4> >(Params)", "Kernel2"},
        {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)",
         "cunn_SoftMaxForward"},
        {"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32",
         "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32"},
        {"std::enable_if<!T::value, void>::type gemv2T_kernel<int, 128>(cublasGemvParams) [clone .1]",
         "gemv2T_kernel"},
        {"ns::Outer<int>::run(float)", "run"},
        {"", ""},
        {"<(<", "<(<"},
    };
    for (const auto& [full, bare] : names)
        EXPECT_EQ(shortKernelName(full), bare) << full;
}

TEST_F(RoundTrip, KeepsWhatIsKnownOfTheMemory)
{
    MemoryFacts facts;
    const Timestamp now = TraceClock::now();
    facts.blocks = {{.time = now,
                     .device = DeviceIndex{1},
                     .address = 0xfedc'ba98'7654'3210,
                     .bytes = 100,
                     .size = 512,
                     .category = MemoryCategory::Optimizer,
                     .name = "norm first moment",
                     .shape = "[25]",
                     .dtype = "f32"},
                    {.time = now, .address = 7, .size = 64, .isFree = true}};
    facts.segments = {{.time = now,
                       .device = DeviceIndex{1},
                       .address = 0x7000'0000,
                       .bytes = 2 << 20,
                       .stream = StreamId{7},
                       .pool = 3,
                       .isLarge = true,
                       .isExpandable = true}};
    facts.readings = {{.time = now,
                       .device = DeviceIndex{1},
                       .moment = "trace begins",
                       .requested = 1,
                       .allocated = 2,
                       .reserved = 3,
                       .deviceUsed = 4,
                       .deviceTotal = 5,
                       .process = {}}};
    facts.saved = {{.path = "step/forward/norm",
                    .op = "aten::mul",
                    .tensor = "own output",
                    .shape = "[4, 4]",
                    .dtype = "bf16",
                    .bytes = 32,
                    .address = 16,
                    .storageBytes = 64,
                    .sharedWith = 0,
                    .category = MemoryCategory::Inputs,
                    .time = now,
                    .from = now + 5_ns,
                    .to = {}}};
    const RunReader reader = written([&](RunWriter& writer) { writer.writeMemory(facts); });
    const MemoryFacts read = reader.memory(run);
    EXPECT_EQ(read.blocks, facts.blocks);
    EXPECT_EQ(read.segments, facts.segments);
    EXPECT_EQ(read.readings, facts.readings);
    EXPECT_EQ(read.saved, facts.saved);
    EXPECT_THROW(reader.memory(RunId{9}), Error) << "no such run";
}

TEST_F(RoundTrip, KeepsProcessesDevicesStreamsAndClocks)
{
    const RunTopology topology = topologyOf("a");
    const RunReader reader = written([&](RunWriter& writer) { writer.writeTopology(topology); });
    const RunTopology read = reader.topology(run);
    EXPECT_EQ(read.clocks, topology.clocks);
    EXPECT_EQ(read.processes, topology.processes);
    EXPECT_EQ(read.devices, topology.devices);
    EXPECT_EQ(read.streams, topology.streams);
    EXPECT_THROW(reader.topology(RunId{9}), Error) << "no such run";
}

TEST_F(RoundTrip, ARunOfOneProcessHasNoProcesses)
{
    const RunReader reader = written([](RunWriter&) {});
    EXPECT_TRUE(reader.topology(run).empty());
    EXPECT_TRUE(reader.collectives(run).empty());
    EXPECT_TRUE(reader.waits(run).empty());
}

TEST_F(RoundTrip, KeepsCollectivesWaitsAndFrames)
{
    TraceBatch batch;
    addProcessEvents(batch, strings, make, "a");
    const RunReader reader = writtenBatch(batch);
    auto collectives = reader.collectives(run);
    ASSERT_EQ(collectives.size(), 2u);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
        Collective& read = collectives[i];
        const Collective& expected = batch.collectives[i];
        for (const auto word : {&Collective::op, &Collective::group, &Collective::ranks, &Collective::dtype,
                                &Collective::path}) {
            EXPECT_EQ(reader.text(read.*word), strings.text(expected.*word));
            read.*word = expected.*word; // ids of the file and of the table differ
        }
        EXPECT_EQ(read, expected);
    }
    EXPECT_EQ(reader.waits(run), batch.waits);
    const auto frames = reader.frames({.run = run});
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(reader.text(frames[0].name), "train.py(96): a");
    EXPECT_EQ(frames[0].start, make.at(1));
    EXPECT_EQ(frames[0].end, make.at(9));
    const auto threads = reader.threads(run);
    ASSERT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads[0].process, ProcessIndex{1});
    EXPECT_EQ(threads[0].native, 5);
    EXPECT_EQ(reader.counts(run).frames, 1);
}

// Ten minutes of a counter at 50 readings per second: several rows, few bytes per reading.
TEST_F(RoundTrip, KeepsALongCounterInFewBytes)
{
    constexpr std::int64_t kReadings = 30'000;
    CounterTrack power{.name = "Power", .unit = "W", .device = DeviceIndex{0}};
    Timestamp time = make.at(0);
    std::uint32_t random = 1;
    for (std::int64_t i = 0; i < kReadings; ++i) {
        random = random * 1664525U + 1013904223U;
        power.points.push_back({time, 400'000 + (random >> 16)});
        time += Nanoseconds(20'000'000 + (random >> 17));
    }
    power.end = time;
    CounterTrack other = power;
    other.device = DeviceIndex{1};
    const RunReader reader = written([](RunWriter&) {});
    const auto before = std::filesystem::file_size(file);
    {
        RunWriter writer(file, strings);
        run = writer.beginRun(header());
        writer.writeCounterTracks(std::array{power, other});
        writer.endRun({});
    }
    EXPECT_THAT(RunReader(file).counterTracks(run), ElementsAre(power, other));
    EXPECT_LT(std::filesystem::file_size(file) - before, 2 * kReadings * 9);
}

// A minute of samples at 500 a second with a launch every 50 µs, by two threads of a process.
TEST_F(RoundTrip, KeepsHostSamplesInFewBytes)
{
    constexpr std::int64_t kSamples = 30'000;
    HostSamples samples{.process = ProcessIndex{1},
                        .stacks = {{kNoStack, "train.py(1): <module>", 90},
                                   {0, "train.py(12): step", 14},
                                   {1, "größe.py(3): forward", 0},
                                   {0, "train.py(12): step", 15}}};
    std::uint32_t random = 1;
    for (const std::uint32_t thread : {3U, 5U}) {
        SampledHostThread& own = samples.threads.emplace_back();
        own.thread = ThreadId{thread};
        Timestamp time = make.at(0);
        for (std::int64_t i = 0; i < kSamples; ++i) {
            random = random * 1664525U + 1013904223U;
            time += Nanoseconds(i % 40 == 0 ? 1'000'000 + (random >> 12) : 40'000 + (random >> 17));
            own.samples.push_back(
                {.time = time,
                 .stack = random % 11 == 0 ? kNoStack : random % 4,
                 .state = i % 40 == 0 ? SampleState::kRan | SampleState::kInCall : SampleState::kLaunch});
        }
    }
    const RunReader reader = written([](RunWriter&) {});
    const auto before = std::filesystem::file_size(file);
    {
        RunWriter writer(file, strings);
        run = writer.beginRun(header());
        writer.writeHostSamples(std::array{samples});
        writer.endRun({});
    }
    EXPECT_THAT(hostSamples(file, run), ElementsAre(samples));
    EXPECT_THAT(hostSamples(file, RunId{1}), IsEmpty());
    EXPECT_LT(std::filesystem::file_size(file) - before, 2 * kSamples * 5);
    const auto merged = file.parent_path() / "merged.tscope";
    EXPECT_EQ(merge(std::array{file}, merged).added, 2);
    EXPECT_THAT(hostSamples(merged, run), ElementsAre(samples));
    EXPECT_THAT(verify(merged).problems, IsEmpty());
}

TEST_F(RoundTrip, KeepsKernelSamples)
{
    const KernelSamples samples{.kernels = {{.process = ProcessIndex{1},
                                             .device = DeviceIndex{0},
                                             .name = "void scale<float>(float*)",
                                             .symbol = "_Z5scaleIfEvPT_",
                                             .cubin = 0xfedcba9876543210ULL},
                                            {.name = "größe", .symbol = "größe"}},
                                .instructions = {{.kernel = 0,
                                                  .offset = 16,
                                                  .text = "FFMA R5, R5, R4, 1",
                                                  .line = {"a.cu", 4},
                                                  .caller = {"b.cu", 22},
                                                  .inlined = "half"},
                                                 {.kernel = 0, .offset = 32},
                                                 {.kernel = 1, .offset = 0, .line = {"a.cu", 9}}},
                                .reasons = {"long_scoreboard", "selected"},
                                .stalls = {{.instruction = 0, .reason = 0, .samples = 12, .unissued = 3},
                                           {.instruction = 0, .reason = 1, .samples = 4, .unissued = 0},
                                           {.instruction = 2,
                                            .reason = 0,
                                            .samples = 1LL << 40,
                                            .unissued = 1,
                                            .start = timestampAt(5'000),
                                            .end = timestampAt(7'000)}},
                                .code = {{.cubin = 0xfedcba9876543210ULL,
                                          .code = std::string("\x7f"
                                                              "ELF\0code",
                                                              9)}},
                                .sources = {{.file = "a.cu", .digest = "12ab", .text = "__global__"},
                                            {.file = "b.cu", .digest = "34"}}};
    written([&](RunWriter& writer) { writer.writeKernelSamples(samples); });
    EXPECT_EQ(kernelSamples(file, run, true), samples);
    KernelSamples withoutCode = samples;
    withoutCode.code.clear();
    withoutCode.sources[0].text.clear();
    EXPECT_EQ(kernelSamples(file, run, false), withoutCode);
    const auto merged = file.parent_path() / "merged.tscope";
    EXPECT_EQ(merge(std::array{file}, merged).added, 1);
    EXPECT_EQ(kernelSamples(merged, run, true), samples);
    EXPECT_THAT(verify(merged).problems, IsEmpty());
}

} // namespace tilescope::store
