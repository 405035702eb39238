#include "core/exchange/import/trace_builder.h"

#include "core/base/error.h"
#include "core/model/environment_facts.h"
#include "core/query/advice/answers.h"
#include "core/query/kernels/kernel_stats.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/op_tables.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "tests/unit/exchange/trace_building.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace fs = std::filesystem;

TEST_F(TraceBuilding, ConnectsAKernelToItsLaunchOpRangeAndStep)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    const ThreadId thread = builder.thread(process, 11, "main");
    builder.addActivity(kernel(process, "gemm", 5, 500, 900));
    // Added out of order: only times count.
    builder.addApiCall(thread, "cudaLaunchKernel_v7000", 5, at(130), at(140));
    builder.addOp(
        {.thread = thread, .name = "aten::mm", .shapes = "f32[2, 2]", .start = at(120), .end = at(200)});
    builder.addRange(thread, "a/b", at(110), at(300));
    builder.addRange(thread, "ProfilerStep#3", at(100), at(400), SpanKind::Step);
    builder.addOp({.thread = thread, .name = "aten::add", .start = at(210), .end = at(220)});

    const store::RunReader reader = finished();
    const auto kernels = reader.deviceEvents({.run = run});
    const auto ops = reader.ops({.run = run});
    const auto ranges = reader.ranges({.run = run});
    const auto calls = reader.apiCalls({.run = run});
    ASSERT_EQ(kernels.size(), 1u);
    ASSERT_EQ(ops.size(), 2u);
    ASSERT_EQ(ranges.size(), 2u);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(reader.text(ranges[0].path), "step");
    EXPECT_EQ(reader.text(ranges[1].path), "step/a\u2215b");
    EXPECT_EQ(reader.text(ranges[1].name), "a/b");
    EXPECT_EQ(ranges[1].parent, ranges[0].id);
    EXPECT_EQ(ops[0].range, ranges[1].id);
    EXPECT_EQ(reader.text(calls[0].name), "cudaLaunchKernel");
    EXPECT_EQ(calls[0].kind, ApiKind::Launch);
    EXPECT_EQ(calls[0].op, ops[0].id);
    EXPECT_EQ(kernels[0].op, ops[0].id);
    EXPECT_EQ(kernels[0].range, ranges[1].id);
    EXPECT_EQ(kernels[0].step, 3);
    EXPECT_EQ(kernels[0].launchThread, ThreadId{11});
    EXPECT_EQ(kernels[0].launched, calls[0].start);
    EXPECT_EQ(reader.text(kernels[0].path), "step/a\u2215b");
    EXPECT_TRUE(losses(reader).empty());
    EXPECT_TRUE(store::verify(file).ok());
}

TEST_F(TraceBuilding, BackwardOpsHaveThePathOfTheirForwardOp)
{
    const ProcessIndex process = builder.addProcess({});
    const ThreadId main = builder.thread(process, 1);
    const ThreadId autograd = builder.thread(process, 2);
    builder.addRange(main, "step 0", at(0), at(1000));
    builder.addRange(main, "step 1", at(1000), at(2000));
    builder.addRange(main, "Linear_3", at(10), at(100), SpanKind::Module);
    builder.addOp({.thread = main, .name = "aten::linear", .sequence = 7, .start = at(20), .end = at(50)});
    builder.addOp({.thread = autograd,
                   .name = "autograd::engine::evaluate_function: AddmmBackward0",
                   .sequence = 7,
                   .isBackward = true,
                   .start = at(500),
                   .end = at(600)});
    builder.addApiCall(autograd, "cuLaunchKernel", 9, at(510), at(520));
    builder.addActivity(kernel(process, "dgrad", 9, 530, 580));

    const store::RunReader reader = finished();
    const auto ops = reader.ops({.run = run});
    ASSERT_EQ(ops.size(), 2u);
    EXPECT_EQ(ops[1].scope, OpScope::Backward);
    EXPECT_EQ(reader.text(ops[1].path), "step/backward/Linear_3");
    EXPECT_EQ(reader.text(reader.deviceEvents({.run = run}).at(0).path), "step/backward/Linear_3");
}

TEST_F(TraceBuilding, EqualNumbersOfTwoRanksStayApart)
{
    const ProcessIndex first = builder.addProcess({.pid = 100, .rank = 0, .worldSize = 2});
    const ProcessIndex second = builder.addProcess({.pid = 100, .rank = 1, .worldSize = 2});
    for (const ProcessIndex process : {first, second}) {
        const ThreadId thread = builder.thread(process, 100, process == first ? "one" : "two");
        builder.addRange(thread, process == first ? "of rank 0" : "of rank 1", at(0), at(100));
        builder.addApiCall(thread, "cudaLaunchKernel", 5, at(10), at(20));
        builder.addActivity(kernel(process, "gemm", 5, 30, 40));
    }
    const store::RunReader reader = finished();
    const auto kernels = reader.deviceEvents({.run = run});
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_NE(kernels[0].device, kernels[1].device) << "NCCL refuses two ranks on one device";
    EXPECT_NE(kernels[0].launchThread, kernels[1].launchThread);
    EXPECT_NE(kernels[0].correlation, kernels[1].correlation);
    EXPECT_NE(kernels[0].range, kernels[1].range);
    const RunTopology topology = reader.topology(run);
    ASSERT_EQ(topology.processes.size(), 2u);
    ASSERT_EQ(topology.devices.size(), 2u);
    for (const DeviceEvent& event : kernels) {
        const TracedProcess& process = topology.processes.at(event.device == topology.devices[0].id ? 0 : 1);
        EXPECT_EQ(event.correlation.value - process.firstCorrelation, 5u);
    }
    for (const TracedStream& stream : topology.streams)
        EXPECT_EQ(stream.native, 7);
    EXPECT_TRUE(losses(reader).empty());
}

TEST_F(TraceBuilding, TablesOfOneRankLeaveTheOtherOut)
{
    for (const int rank : {0, 1}) {
        const ProcessIndex process = builder.addProcess({.pid = 100 + rank, .rank = rank, .worldSize = 2});
        const ThreadId thread = builder.thread(process, 100 + rank, "main");
        for (int step = 0; step < 2; ++step) {
            const std::int64_t start = 1000 * step;
            builder.addRange(thread, "ProfilerStep#" + std::to_string(step), at(start), at(start + 1000),
                             SpanKind::Step);
            builder.addOp(
                {.thread = thread, .name = "aten::mm", .start = at(start + 5), .end = at(start + 30)});
            const auto correlation = static_cast<std::uint32_t>(5 + step);
            builder.addApiCall(thread, "cudaLaunchKernel", correlation, at(start + 10), at(start + 20));
            builder.addActivity(kernel(process, "gemm", correlation, start + 100, start + 300 + 100 * rank));
        }
    }
    const store::RunReader reader = finished();
    const query::KernelsTable both = query::kernels(reader, {});
    ASSERT_EQ(both.rows.size(), 1u);
    EXPECT_EQ(both.rows[0].instances, 4);
    EXPECT_EQ(both.total, Nanoseconds(2 * (200 + 300)));
    const query::KernelsTable second = query::kernels(reader, {.topology = {.rank = 1}});
    ASSERT_EQ(second.rows.size(), 1u);
    EXPECT_EQ(second.rows[0].instances, 2);
    EXPECT_EQ(second.total, Nanoseconds(2 * 300));
    EXPECT_EQ(query::kernels(reader, {.topology = {.device = 0}}).total, Nanoseconds(2 * 200));
    EXPECT_EQ(query::ops(reader, {.topology = {.pid = 101}}).rows.at(0).instances, 2);
    const query::StepsTable steps = query::steps(reader, {});
    ASSERT_EQ(steps.rows.size(), 4u);
    for (const query::StepRow& row : steps.rows) {
        EXPECT_EQ(row.partition.gpuBusy, Nanoseconds(row.rank == 0 ? 200 : 300))
            << "each rank's step counts its own GPU";
        EXPECT_EQ(row.process, "rank " + std::to_string(*row.rank));
    }
    EXPECT_EQ(query::steps(reader, {.topology = {.rank = 1}}).rows.size(), 2u);
    try {
        query::kernels(reader, {.topology = {.rank = 7}});
        FAIL() << "there is no rank 7";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("it has: 0, 1"));
    }
}

TEST_F(TraceBuilding, AnswersHoldForOneRankAndSaySo)
{
    for (const std::int32_t rank : {1, 0}) {
        const ProcessIndex process =
            builder.addProcess({.pid = 10 + rank, .name = "python", .rank = rank, .worldSize = 2});
        const ThreadId thread = builder.thread(process, 1, "main");
        builder.addRange(thread, "ProfilerStep#0", at(100), at(900), SpanKind::Step);
        builder.addRange(thread, "forward", at(110), at(800));
        for (std::uint32_t i = 1; i <= 3U + static_cast<std::uint32_t>(rank); ++i) {
            builder.addApiCall(thread, "cudaLaunchKernel", i, at(110 + i), at(111 + i));
            builder.addActivity(kernel(process, "gemm", i, 200 + 100 * i, 250 + 100 * i, rank));
        }
    }
    const store::RunReader reader = finished();
    const query::AnswersTable lowest = query::answers(reader, {.run = run}, "instances");
    EXPECT_EQ(lowest.rank, 0);
    EXPECT_EQ(lowest.process, "rank 0");
    EXPECT_EQ(lowest.rows.at(0).sentence, "A step runs these kernels: 3 in forward.");
    EXPECT_THAT(lowest.rows.at(0).command, HasSubstr(" --rank 0"));
    const query::AnswersTable other =
        query::answers(reader, {.run = run, .topology = {.rank = 1}}, "instances");
    EXPECT_EQ(other.rank, 1);
    EXPECT_EQ(other.rows.at(0).sentence, "A step runs these kernels: 4 in forward.");
    EXPECT_THROW(query::answers(reader, {.run = run, .topology = {.rank = 2}}, "instances"), Error);
}

TEST_F(TraceBuilding, OneDeviceOfTwoProcessesKeepsTheirStreamsApart)
{
    const ProcessIndex first = builder.addProcess({.pid = 1});
    const ProcessIndex second = builder.addProcess({.pid = 2});
    for (const ProcessIndex process : {first, second}) {
        builder.addDevice(process, {.ordinal = 0, .uuid = "GPU-1", .name = "NVIDIA H200"});
        builder.addActivity(kernel(process, "gemm", 5, 30, 40));
    }
    const store::RunReader reader = finished();
    const auto kernels = reader.deviceEvents({.run = run});
    ASSERT_EQ(kernels.size(), 2u) << "equal in everything but their process";
    EXPECT_EQ(kernels[0].device, kernels[1].device);
    EXPECT_NE(kernels[0].stream, kernels[1].stream);
    EXPECT_EQ(reader.topology(run).devices.size(), 1u);
    EXPECT_EQ(losses(reader)["unlaunched_activity"], 2);
    const query::Timeline timeline = query::readTimeline(reader, run, [] { return false; }).value();
    std::vector<ProcessIndex> owners;
    for (const query::Lane& lane : timeline.lanes)
        if (lane.kind == query::Lane::Kind::Stream)
            owners.push_back(lane.process);
    EXPECT_THAT(owners, ElementsAre(first, second));
    const auto goOn = [] { return false; };
    EXPECT_EQ(query::kernelsWithin(timeline, {0, 10}, goOn, first).at(0).instances, 1);
    EXPECT_EQ(query::kernelsWithin(timeline, {0, 10}, goOn).at(0).instances, 2);
    EXPECT_EQ(query::busyShare(timeline, {0, 10}, second)->devices, 1) << "both use it";
}

TEST_F(TraceBuilding, ClocksArePutOnOneAxis)
{
    const ClockIndex late =
        builder.addClock({.name = "b", .offset = Nanoseconds(1'000), .method = "wall clock"});
    const ClockIndex same = builder.addClock({.name = "a", .method = "wall clock"});
    const ProcessIndex first = builder.addProcess({.pid = 1, .host = "a", .clock = same});
    const ProcessIndex second = builder.addProcess({.pid = 2, .host = "b", .clock = late});
    builder.addActivity(kernel(first, "a", 0, 1'500, 1'600));
    builder.addActivity(kernel(second, "b", 0, 600, 700));
    const store::RunReader reader = finished();
    const auto kernels = reader.deviceEvents({.run = run});
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(reader.text(kernels[0].name), "a");
    EXPECT_EQ(kernels[1].start - kernels[0].start, Nanoseconds(100));
}

TEST_F(TraceBuilding, CountsWhatCannotBeStored)
{
    const ProcessIndex process = builder.addProcess({});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "reversed", at(100), at(50));
    builder.addRange(thread, "beyond", at(0), at(INT64_MAX));
    const ForeignActivity twice = kernel(process, "gemm", 5, 30, 40);
    builder.addActivity(twice);
    builder.addActivity(twice);
    builder.addCollective(process, {.op = "all_reduce", .bytes = 8}, 77);
    builder.addLoss(RecordLoss::UnknownKind, 3, "cat: mtia");
    const store::RunReader reader = finished();
    const auto counts = losses(reader);
    EXPECT_EQ(counts.at("negative_duration"), 1);
    EXPECT_EQ(counts.at("time_out_of_range"), 1);
    EXPECT_EQ(counts.at("duplicate_activity"), 1);
    EXPECT_EQ(counts.at("unlaunched_activity"), 1);
    EXPECT_EQ(counts.at("collectives_unmatched"), 1);
    EXPECT_EQ(counts.at("unknown_kind"), 3);
    EXPECT_EQ(reader.deviceEvents({.run = run}).size(), 1u);
    EXPECT_EQ(reader.ranges({.run = run}).size(), 1u);
}

TEST_F(TraceBuilding, ACollectiveTakesTheTimesOfItsKernelAndANumberInItsGroup)
{
    const ProcessIndex process = builder.addProcess({.rank = 0, .worldSize = 2});
    const ThreadId thread = builder.thread(process, 1);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        builder.addApiCall(thread, "cudaLaunchKernelExC", i, at(10 * i), at(10 * i + 1));
        builder.addActivity(kernel(process, "ncclDevKernel_AllReduce", i, 100 * i, 100 * i + 50));
        builder.addCollective(process, {.op = "all_reduce", .group = "0", .bytes = 8 * i, .groupSize = 2}, i);
    }
    const store::RunReader reader = finished();
    const auto collectives = reader.collectives(run);
    ASSERT_EQ(collectives.size(), 2u);
    EXPECT_EQ(collectives[1].end - collectives[1].start, Nanoseconds(50));
    EXPECT_EQ(collectives[0].sequence, 0);
    EXPECT_EQ(collectives[1].sequence, 1);
    EXPECT_EQ(collectives[1].thread, ThreadId{1});
    EXPECT_TRUE(collectives[1].stream);
}

TEST_F(TraceBuilding, ACancelledImportLeavesTheFileAsItWas)
{
    const ProcessIndex process = builder.addProcess({});
    builder.addActivity(kernel(process, "gemm", 5, 30, 40));
    const auto never = [](double) { return false; };
    EXPECT_THROW(builder.finish({.name = "x", .format = "test"}, file, never), Error);
    EXPECT_FALSE(fs::exists(file));
    TraceBuilder again;
    const ProcessIndex other = again.addProcess({});
    const DeviceIndex device = again.device(other, 0);
    const ForeignActivity activity{.name = "k",
                                   .device = device,
                                   .stream = again.stream(other, device, 7),
                                   .start = at(1),
                                   .end = at(2)};
    again.addActivity(activity);
    again.finish({.name = "x", .format = "test"}, file, {});
    TraceBuilder third;
    const ProcessIndex last = third.addProcess({});
    const DeviceIndex its = third.device(last, 0);
    ForeignActivity more = activity;
    more.device = its;
    more.stream = third.stream(last, its, 7);
    third.addActivity(more);
    EXPECT_THROW(third.finish({.name = "y", .format = "test"}, file, never), Error);
    EXPECT_EQ(store::RunReader(file).runs().size(), 1u);
    EXPECT_TRUE(store::verify(file).ok());
}

TEST_F(TraceBuilding, RefusesAnEmptyTrace)
{
    builder.addProcess({});
    try {
        finished();
        FAIL() << "imported nothing";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("has no events"));
    }
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(TraceBuilding, GivesAStepTheWorkThatItLaunchedThoughItRunsLater)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    const ThreadId thread = builder.thread(process, 10, "main");
    // The host replays a graph of two kernels a step and is done after 300 ns; then it waits.
    for (std::int32_t i = 0; i < 3; ++i) {
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(100 + 100 * i), at(200 + 100 * i),
                         SpanKind::Step);
        const auto correlation = static_cast<std::uint32_t>(i + 1);
        builder.addApiCall(thread, "cudaGraphLaunch", correlation, at(110 + 100 * i), at(130 + 100 * i));
        builder.addActivity(kernel(process, "forward", correlation, 1000 + 1000 * i, 1600 + 1000 * i));
        builder.addActivity(kernel(process, "backward", correlation, 1600 + 1000 * i, 2000 + 1000 * i));
    }
    builder.addApiCall(thread, "cudaDeviceSynchronize", 9, at(410), at(4000));

    const store::RunReader reader = finished();
    const query::StepsTable steps = query::steps(reader, {.run = run});
    ASSERT_EQ(steps.rows.size(), 3u);
    for (const query::StepRow& row : steps.rows) {
        const analysis::StepPartition& parts = row.partition;
        EXPECT_EQ(parts.gpuBusy, Nanoseconds(1000)) << row.step;
        EXPECT_EQ(parts.gpuBusy + parts.launching + parts.synchronizing + parts.tracing + parts.unexplained,
                  parts.wall.length())
            << row.step;
    }
    EXPECT_EQ(steps.rows[0].partition.wall.length(), Nanoseconds(1900)); // it waits for its first kernel
    EXPECT_EQ(steps.rows[1].partition.wall.length(), Nanoseconds(1000));
    EXPECT_EQ(analysis::verdictOf(steps.rows[1].partition), analysis::StepVerdict::GpuBound);
    EXPECT_EQ(analysis::verdictOf(steps.rows[2].partition), analysis::StepVerdict::GpuBound);
    const std::vector<Sample> samples = reader.samples(run);
    ASSERT_EQ(samples.size(), 3u);
    EXPECT_EQ(samples[2].wall, Nanoseconds(1000));
    // The ranges keep the times of the source.
    EXPECT_EQ(reader.ranges({.run = run})[2].end - reader.ranges({.run = run})[2].start, Nanoseconds(100));
}

// A step ends with the update, and the range around the update ends later: on one thread each step would lie deeper
// than the one before.
TEST_F(TraceBuilding, ComputedStepsLieOnAThreadOfTheirOwn)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    const ThreadId thread = builder.thread(process, 10, "main");
    for (std::int64_t i = 0; i < 20; ++i) {
        const std::int64_t from = 1000 * i;
        builder.addRange(thread, "forward", at(from + 100), at(from + 600));
        builder.addRange(thread, "optimizer", at(from + 700), at(from + 950));
        builder.addRange(thread, "Optimizer.step#SGD.step", at(from + 710), at(from + 900));
    }
    const store::RunReader reader = finished();
    const query::Timeline timeline = query::readTimeline(reader, run, [] { return false; }).value();
    ASSERT_EQ(timeline.lanes.size(), 2u);
    EXPECT_EQ(timeline.lanes[0].detail, "computed steps");
    ASSERT_EQ(timeline.lanes[0].rows.size(), 1u);
    EXPECT_EQ(timeline.lanes[0].rows[0].size(), timeline.steps.size());
    EXPECT_GT(timeline.steps.size(), 15u);
    EXPECT_EQ(timeline.lanes[1].detail, "main 10");
    EXPECT_EQ(timeline.lanes[1].rows.size(), 2u);
    const std::vector<Range> ranges = reader.ranges({.run = run});
    EXPECT_TRUE(std::ranges::any_of(ranges, [&](const Range& range) {
        return reader.text(range.path) == "step/forward" && range.step == 3;
    })) << "ranges of the program belong to the steps";
}

TEST_F(TraceBuilding, RanksHaveThePeakOfTheirOwnDevice)
{
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        const ProcessIndex process = builder.addProcess({.pid = 100 + rank, .rank = rank, .worldSize = 2});
        const ThreadId thread = builder.thread(process, 11, "main");
        builder.addRange(thread, "ProfilerStep#3", at(1000), at(2000), SpanKind::Step);
        builder.addActivity(kernel(process, "gemm", 5, 1500, 1900, rank));
        const DeviceIndex device = builder.device(process, rank);
        const std::int64_t bytes = 512 - 128 * rank;
        builder.addAllocation(
            thread,
            {.time = at(1100), .device = device, .address = 0x7000, .bytes = bytes, .allocated = bytes});
        builder.addAllocation(thread, {.time = at(1300),
                                       .action = AllocAction::FreeCompleted,
                                       .device = device,
                                       .address = 0x7000,
                                       .bytes = bytes,
                                       .allocated = 0});
    }
    const store::RunReader reader = finished();
    const query::RanksTable table = query::ranks(reader, {.run = run});
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].peakAllocated, Bytes{512});
    EXPECT_EQ(table.rows[1].peakAllocated, Bytes{384});
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        const query::LiveMemoryTable live =
            query::memoryAtPeak(reader, run, [] { return false; }, {}, {.rank = rank});
        ASSERT_TRUE(live.history) << "a recording without a memory track";
        EXPECT_EQ(live.allocated, Bytes{512 - 128 * rank});
        EXPECT_EQ(live.blocks.size(), 1U);
    }
}

TEST_F(TraceBuilding, FactsInWhichProcessesDifferSayOfWhichTheyAre)
{
    const ProcessIndex first = builder.addProcess({.pid = 10, .name = "python", .rank = 0});
    const ProcessIndex second = builder.addProcess({.pid = 11, .name = "python", .rank = 1});
    const ProcessIndex launcher = builder.addProcess({.pid = 9, .name = "torchrun"});
    builder.addEnvironment({.key = "load", .value = "1.5"}, first);
    builder.addEnvironment({.key = "load", .value = "2.5"}, second);
    builder.addEnvironment({.key = "load", .value = "1.5"}, launcher);
    builder.addEnvironment({.key = "torch", .value = "2.11"}, first);
    builder.addEnvironment({.key = "torch", .value = "2.11"}, second);
    builder.addActivity(kernel(first, "gemm", 1, 100, 200, 0));
    builder.addActivity(kernel(second, "gemm", 2, 100, 200, 1));
    const store::RunReader reader = finished();
    std::vector<std::string> load;
    std::vector<std::string> torch;
    for (const EnvironmentEntry& entry : reader.environment(run)) {
        if (entry.key == "load")
            load.push_back(entry.value);
        if (entry.key == "torch")
            torch.push_back(entry.value);
    }
    EXPECT_THAT(load, ElementsAre("rank 0, torchrun 9: 1.5", "rank 1: 2.5"));
    EXPECT_THAT(torch, ElementsAre("2.11"));
    EXPECT_EQ(reader.run(run).value().result.device, "cuda:0, cuda:1");
}

TEST_F(TraceBuilding, NumbersOfProcessesStayApart)
{
    const ProcessIndex first = builder.addProcess({.pid = 10, .name = "python", .rank = 0});
    const ProcessIndex second = builder.addProcess({.pid = 11, .name = "python", .rank = 1});
    builder.addNumber("record.inside_others", 7, first);
    builder.addNumber("record.inside_others", 7, second);
    builder.addActivity(kernel(first, "gemm", 1, 100, 200, 0));
    builder.addActivity(kernel(second, "gemm", 2, 100, 200, 1));
    EXPECT_THAT(numbersOfProcesses(finished().environment(run), "record.inside_others"),
                ElementsAre(Pair(first, 7), Pair(second, 7)));
}

TEST_F(TraceBuilding, ANumberOfTheOnlyProcessHasItsPlainKey)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    builder.addNumber("record.inside_others", 7, process);
    builder.addActivity(kernel(process, "gemm", 1, 100, 200, 0));
    EXPECT_EQ(factOf(finished().environment(run), "record.inside_others"), "7");
}

TEST_F(TraceBuilding, ARunOfManyGpusNamesTheFirstAndTheLast)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu)
        builder.addActivity(kernel(process, "gemm", gpu + 1, 100, 200, static_cast<std::int32_t>(gpu)));
    EXPECT_EQ(finished().run(run).value().result.device, "cuda:0 to cuda:3");
}

TEST_F(TraceBuilding, ARunOfSomeGpusOfAMachineNamesNoOther)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    std::uint32_t stream = 0;
    for (const std::int32_t gpu : {7, 0, 4, 2, 3})
        builder.addActivity(kernel(process, "gemm", ++stream, 100, 200, gpu));
    EXPECT_EQ(finished().run(run).value().result.device, "cuda:0, cuda:2 to cuda:4, cuda:7");
}

} // namespace
} // namespace tilescope::exchange
