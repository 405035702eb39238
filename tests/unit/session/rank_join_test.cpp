#include "core/session/engine/rank_join.h"

#include "core/model/flags.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilescope::session {

namespace {

/// The records of a rank on its GPU: an all-reduce on a stream of its own, after a kernel that it waits for. Every rank has
/// the same numbers.
TraceBatch recordsOf(std::int16_t rank, StringTable& strings)
{
    const DeviceIndex device{rank};
    const StringId name = strings.intern("ncclDevKernel");
    TraceBatch batch;
    batch.threads.push_back(
        {.thread = ThreadId{100U + static_cast<std::uint32_t>(rank)}, .name = strings.intern("main")});
    batch.ranges.push_back(
        {.id = RangeId{0}, .path = strings.intern("step"), .name = strings.intern("step_0"), .step = 0});
    batch.deviceEvents.push_back({.name = strings.intern("gemm"),
                                  .device = device,
                                  .stream = StreamId{7},
                                  .correlation = CorrelationId{41},
                                  .range = RangeId{0},
                                  .step = 0,
                                  .start = Timestamp(Nanoseconds(10)),
                                  .end = Timestamp(Nanoseconds(20))});
    batch.deviceEvents.push_back({.name = name,
                                  .device = device,
                                  .stream = StreamId{13},
                                  .correlation = CorrelationId{43},
                                  .range = RangeId{0},
                                  .step = 0,
                                  .start = Timestamp(Nanoseconds(20)),
                                  .end = Timestamp(Nanoseconds(30))});
    batch.collectives.push_back({.op = strings.intern("all_reduce"),
                                 .group = strings.intern("all ranks"),
                                 .sequence = 1,
                                 .device = device,
                                 .stream = StreamId{13},
                                 .correlation = CorrelationId{43},
                                 .range = RangeId{0},
                                 .step = 0,
                                 .start = Timestamp(Nanoseconds(20)),
                                 .end = Timestamp(Nanoseconds(30))});
    batch.waits.push_back({.kind = WaitKind::StreamWait,
                           .device = device,
                           .stream = StreamId{13},
                           .waitedFor = StreamId{7},
                           .correlation = CorrelationId{42},
                           .step = 0});
    return batch;
}

} // namespace

TEST(CombineLosses, GivesThoseOfTheWholeStep)
{
    using Losses = std::vector<std::optional<double>>;
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.gpus = 4;
    spec.parallel = Parallel::Ddp;
    spec.loss = LossKind::CrossEntropy;
    Losses losses{1, 2, 3, std::nullopt};
    // The last step was not read by one rank; another was stopped before it.
    combineLosses(losses, {{2, 2, 4, 5}, {3, std::nullopt, 5, 5}, {6, 2, 4}}, spec);
    EXPECT_EQ(losses, (Losses{3, std::nullopt, 4, std::nullopt}));
    spec.loss = LossKind::Sum;
    losses = {1};
    combineLosses(losses, {{2}, {3}, {6}}, spec);
    EXPECT_EQ(losses, Losses{12});
    // Ranks of tensor parallelism have one batch and so the same loss.
    spec.parallel = Parallel::Tp;
    losses = {7};
    combineLosses(losses, {{7}, {7}, {7}}, spec);
    EXPECT_EQ(losses, Losses{7});
    spec.parallel = Parallel::FsdpTp;
    losses = {1};
    combineLosses(losses, {{1}, {5}, {5}}, spec);
    EXPECT_EQ(losses, Losses{6});
}

TEST(RankJoin, GivesTheRecordsOfEachGpuNumbersOfTheirOwn)
{
    const testing::TemporaryFolder folder;
    const auto file = folder.path() / "rank1.tscope";
    {
        StringTable strings;
        store::RunWriter writer(file, strings);
        writer.beginRun({"lm", "lm", R"({"workload":"lm"})", "hash", "test"});
        const EnvironmentEntry environment[] = {
            {"gpu.0.name", "NVIDIA H100"}, {"gpu.1.name", "NVIDIA H200"}, {"gpu.1.memory", "1000", "B"}};
        writer.writeEnvironment(environment);
        writer.write(recordsOf(1, strings));
        const CounterTrack counters[] = {
            {.name = "Power",
             .device = DeviceIndex{1},
             .end = timestampAt(30),
             .points = {{timestampAt(10), 5}}},
            {.name = "CPU use", .end = timestampAt(30), .points = {{timestampAt(10), 6}}}};
        writer.writeCounterTracks(counters);
        writer.writeKernelSamples({.kernels = {{.device = DeviceIndex{1}, .name = "gemm", .cubin = 7}},
                                   .instructions = {{.kernel = 0, .offset = 16}},
                                   .reasons = {"barrier", "wait"},
                                   .stalls = {{.instruction = 0, .reason = 1, .samples = 5}},
                                   .code = {{.cubin = 7, .code = "code"}}});
        RunResult result;
        result.device = "cuda:1";
        writer.endRun(result);
    }
    StringTable strings;
    RankJoin join({.rank = 0, .size = 2}, strings);
    join.hold(recordsOf(0, strings));
    RunResult result;
    result.status = RunStatus::Ok;
    join.add({.rank = 1, .pid = 5, .file = file, .run = RunId{1}}, result);
    const TraceBatch all = join.take();

    const std::vector<CounterTrack> counters = join.withCounters({{.name = "CPU use"}});
    ASSERT_EQ(counters.size(), 3);
    EXPECT_EQ(counters[0].process, ProcessIndex{0});
    EXPECT_EQ(counters[1].device, DeviceIndex{1});
    EXPECT_FALSE(counters[1].process) << "it is the device's";
    EXPECT_EQ(counters[2].process, ProcessIndex{1});

    const KernelSamples samples =
        join.withKernelSamples({.kernels = {{.device = DeviceIndex{0}, .name = "gemm", .cubin = 7}},
                                .instructions = {{.kernel = 0, .offset = 32}},
                                .reasons = {"wait"},
                                .stalls = {{.instruction = 0, .reason = 0, .samples = 3}},
                                .code = {{.cubin = 7, .code = "code"}}});
    ASSERT_EQ(samples.kernels.size(), 2);
    EXPECT_EQ(samples.kernels[0].process, ProcessIndex{0});
    EXPECT_EQ(samples.kernels[1].process, ProcessIndex{1});
    EXPECT_EQ(samples.kernels[1].device, DeviceIndex{1});
    ASSERT_EQ(samples.stalls.size(), 2);
    EXPECT_EQ(samples.stalls[1].samples, 5);
    EXPECT_EQ(samples.instructions[samples.stalls[1].instruction].kernel, 1);
    EXPECT_EQ(samples.reasons[samples.stalls[1].reason], "wait");
    EXPECT_EQ(samples.code.size(), 1) << "both ranks have the module";

    ASSERT_EQ(all.deviceEvents.size(), 4);
    std::set<CorrelationId> correlations;
    std::set<StreamId> streams;
    for (const DeviceEvent& event : all.deviceEvents) {
        correlations.insert(event.correlation);
        streams.insert(event.stream);
    }
    EXPECT_EQ(correlations.size(), 4);
    EXPECT_EQ(streams.size(), 4);
    ASSERT_EQ(all.collectives.size(), 2);
    for (const Collective& collective : all.collectives) {
        const auto kernel =
            std::ranges::find(all.deviceEvents, collective.correlation, &DeviceEvent::correlation);
        ASSERT_NE(kernel, all.deviceEvents.end());
        EXPECT_EQ(strings.text(kernel->name), "ncclDevKernel");
        EXPECT_EQ(kernel->device.value, collective.process.value);
        EXPECT_EQ(kernel->stream, collective.stream);
        EXPECT_EQ(kernel->range, collective.range);
    }
    ASSERT_EQ(all.waits.size(), 2);
    for (const Wait& wait : all.waits)
        EXPECT_TRUE(streams.contains(wait.stream) && streams.contains(wait.waitedFor));

    const RunTopology& topology = join.topology();
    ASSERT_EQ(topology.devices.size(), 2);
    EXPECT_EQ(topology.devices[0].name, "NVIDIA H100");
    EXPECT_EQ(topology.devices[1].name, "NVIDIA H200");
    EXPECT_EQ(topology.devices[1].memory, Bytes{1000});
    ASSERT_EQ(topology.streams.size(), 4);
    for (const TracedStream& stream : topology.streams) {
        EXPECT_EQ(stream.process.value, stream.device.value);
        EXPECT_THAT(stream.native, ::testing::AnyOf(7, 13));
    }
    EXPECT_EQ(topology.processes[0].firstCorrelation, 0);
    EXPECT_GT(topology.processes[1].firstCorrelation, 0);
}

TEST(RankJoin, MovesTheRecordsOfAnotherNodeOntoTheClockOfRank0)
{
    // Both nodes call their only device 0, and their threads may have one number.
    const testing::TemporaryFolder folder;
    const auto file = folder.path() / "rank1.tscope";
    {
        StringTable strings;
        store::RunWriter writer(file, strings);
        writer.beginRun({"lm", "lm", R"({"workload":"lm"})", "hash", "test"});
        const EnvironmentEntry environment[] = {{"gpu.0.name", "NVIDIA H200"}};
        writer.writeEnvironment(environment);
        TraceBatch batch = recordsOf(0, strings);
        for (DeviceEvent& event : batch.deviceEvents)
            event.launchThread = ThreadId{100};
        batch.deviceEvents.front().launched = Timestamp(Nanoseconds(5));
        writer.write(batch);
        RunTopology itself;
        itself.clocks.push_back({.id = ClockIndex{0},
                                 .name = "second",
                                 .offset = Nanoseconds(-4),
                                 .uncertainty = Nanoseconds(3),
                                 .method = "times asked over the network"});
        itself.processes.push_back(
            {.id = ProcessIndex{1}, .pid = 77, .host = "second", .rank = 1, .clock = ClockIndex{0}});
        writer.writeTopology(itself);
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }
    StringTable strings;
    RankJoin join({.rank = 0, .size = 2}, strings);
    join.hold(recordsOf(0, strings));
    RunResult result;
    join.add({.rank = 1, .node = 1, .localRank = 0, .pid = 5, .file = file, .run = RunId{1}}, result);
    const EnvironmentEntry ofFirst[] = {{"gpu.0.name", "NVIDIA H100"}};
    join.describeDevices(0, {std::begin(ofFirst), std::end(ofFirst)});
    const TraceBatch all = join.take();

    const RunTopology& topology = join.topology();
    ASSERT_EQ(topology.clocks.size(), 2);
    EXPECT_EQ(topology.clocks[1].offset, Nanoseconds(-4));
    EXPECT_EQ(topology.clocks[1].uncertainty, Nanoseconds(3));
    ASSERT_EQ(topology.processes.size(), 2);
    EXPECT_EQ(topology.processes[1].pid, 77) << "not that of srun";
    EXPECT_EQ(topology.processes[1].host, "second");
    EXPECT_EQ(topology.processes[1].clock, ClockIndex{1});
    ASSERT_EQ(topology.devices.size(), 2);
    EXPECT_EQ(topology.devices[0].name, "NVIDIA H100");
    EXPECT_EQ(topology.devices[1].name, "NVIDIA H200");
    EXPECT_EQ(topology.devices[1].ordinal, 0);
    EXPECT_EQ(topology.devices[1].host, "second");

    ASSERT_EQ(all.deviceEvents.size(), 4);
    int moved = 0;
    for (const DeviceEvent& event : all.deviceEvents) {
        if (event.device != topology.devices[1].id)
            continue;
        const bool isFirst = strings.text(event.name) == "gemm";
        EXPECT_EQ(event.start, Timestamp(Nanoseconds(isFirst ? 6 : 16)));
        EXPECT_EQ(event.end, Timestamp(Nanoseconds(isFirst ? 16 : 26)));
        EXPECT_EQ(event.launched, isFirst ? Timestamp(Nanoseconds(1)) : Timestamp())
            << "unknown stays unknown";
        EXPECT_NE(event.launchThread, ThreadId{100});
        ++moved;
    }
    EXPECT_EQ(moved, 2);
    ASSERT_EQ(all.threads.size(), 2);
    EXPECT_NE(all.threads[0].thread, all.threads[1].thread);
    EXPECT_EQ(all.threads[1].native, 100);
}

TEST(RankJoin, CancelsARunThatLostARankAfterAStop)
{
    RunResult result;
    result.status = RunStatus::Error;
    result.reason = "rank 1 did not answer";
    result.flags = {flagText(FlagKind::DevelopmentBuild), flagText(FlagKind::RankLost)};
    attributeLossToStop(result, "stopped on request");
    EXPECT_EQ(result.status, RunStatus::Cancelled);
    EXPECT_EQ(result.reason, "stopped on request");
    EXPECT_THAT(result.flags, ::testing::ElementsAre(flagText(FlagKind::DevelopmentBuild)));
}

TEST(RankJoin, KeepsTheReasonOfARunThatFailedBeforeAStop)
{
    RunResult result;
    result.status = RunStatus::Error;
    result.reason = "rank 1: it failed";
    attributeLossToStop(result, "stopped on request");
    EXPECT_EQ(result.status, RunStatus::Error);
    EXPECT_EQ(result.reason, "rank 1: it failed");
}

} // namespace tilescope::session
