#include "core/exchange/import/trace_builder.h"

#include "core/base/error.h"
#include "core/exchange/import/step_finder.h"
#include "core/exchange/tables/sections.h"
#include "core/query/advice/advice_table.h"
#include "core/query/advice/answers.h"
#include "core/query/kernels/kernel_stats.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/op_tables.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/path/path_tables.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::exchange {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TraceBuilding : public ::testing::Test {
protected:
    static Timestamp at(std::int64_t ns) { return timestampAt(ns); }

    ForeignActivity kernel(ProcessIndex process, std::string_view name, std::uint32_t correlation,
                           std::int64_t start, std::int64_t end, std::int32_t ordinal = 0)
    {
        const DeviceIndex device = builder.device(process, ordinal);
        return {.name = name,
                .device = device,
                .stream = builder.stream(process, device, 7),
                .correlation = correlation,
                .start = at(start),
                .end = at(end)};
    }

    store::RunReader finished()
    {
        run = builder.finish({.name = "x.json", .format = "test"}, file, {});
        return store::RunReader(file);
    }

    std::map<std::string, std::int64_t> losses(const store::RunReader& reader) const
    {
        std::map<std::string, std::int64_t> counts;
        for (const auto& loss : reader.losses(run))
            counts[loss.kind] += loss.count;
        return counts;
    }

    tilescope::testing::TemporaryFolder folder;
    fs::path file = folder / "x.tscope";
    TraceBuilder builder;
    RunId run;
};

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

std::vector<std::int64_t> startsOf(const FoundSteps& found)
{
    std::vector<std::int64_t> starts;
    for (const FoundStep& step : found.steps)
        starts.push_back(step.start);
    return starts;
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

TEST(StepFinder, TakesMarkedRangesThenNamedOnesThenUpdates)
{
    const std::vector<StepCandidate> all{{"Optimizer.step#AdamW.step", 0, 1, 80, 90, false},
                                         {"iteration 4", 1, 1, 0, 95, false},
                                         {"ProfilerStep#7", 2, 1, 0, 99, true},
                                         {"iteration 5", 3, 1, 100, 195, false},
                                         {"Optimizer.step#AdamW.step", 4, 1, 180, 190, false},
                                         {"ProfilerStep#8", 5, 1, 100, 199, true}};
    const FoundSteps marked = stepsFromRanges(all, -5);
    EXPECT_EQ(marked.source, "ProfilerStep");
    EXPECT_THAT(startsOf(marked), ElementsAre(0, 100));
    EXPECT_EQ(marked.steps[1].number, 8);
    EXPECT_EQ(marked.steps[1].range, 5u);
    EXPECT_FALSE(marked.isInferred);
    const std::vector<StepCandidate> named{all[0], all[1], all[3], all[4]};
    EXPECT_EQ(stepsFromRanges(named, -5).steps.at(0).number, 4);
    const std::vector<StepCandidate> updates{all[0], all[4]};
    const FoundSteps between = stepsFromRanges(updates, -5);
    EXPECT_TRUE(between.isInferred);
    EXPECT_THAT(startsOf(between), ElementsAre(-5, 90));
    EXPECT_EQ(between.steps[1].end, 190);
}

TEST(StepFinder, TakesTheIterationsThatFrameworksMark)
{
    for (const auto& [name, source] :
         {std::pair("step[DECODE bs=32]", "marks of SGLang"),
          std::pair("execute_context_0(0)_generation_32(32)", "marks of vLLM"),
          std::pair("[Executor] _forward_step 7: 0 ctx reqs, 3 gen reqs", "marks of TensorRT-LLM"),
          std::pair("[pl][profile]run_training_batch", "marks of Lightning")}) {
        EXPECT_TRUE(mayDelimitSteps(name));
        const std::vector<StepCandidate> ranges{{name, 0, 1, 0, 90, false},
                                                {"Optimizer.step#AdamW.step", 1, 1, 80, 90, false},
                                                {name, 2, 1, 100, 190, false},
                                                {"Optimizer.step#AdamW.step", 3, 1, 180, 190, false}};
        const FoundSteps found = stepsFromRanges(ranges, -5);
        EXPECT_EQ(found.source, source);
        EXPECT_FALSE(found.isInferred);
        EXPECT_THAT(startsOf(found), ElementsAre(0, 100)) << name;
    }
    EXPECT_FALSE(mayDelimitSteps("execute_kernel"));
}

TEST(StepFinder, TakesASingleMarkOfAFramework)
{
    const std::string name =
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)";
    EXPECT_TRUE(mayDelimitSteps(name)) << "however long it is";
    const std::vector<StepCandidate> ranges{{name, 0, 1, 10, 90, false}};
    const FoundSteps found = stepsFromRanges(ranges, 0);
    EXPECT_EQ(found.source, "marks of vLLM");
    EXPECT_THAT(startsOf(found), ElementsAre(10));
}

TEST(StepFinder, TakesWhatTheUserChooses)
{
    std::vector<StepCandidate> ranges{{"ProfilerStep#1", 0, 1, 0, 99, true},
                                      {"epoch 1", 1, 1, 10, 50, false, true},
                                      {"epoch 2", 2, 1, 50, 90, false, true}};
    const FoundSteps found = stepsFromRanges(ranges, 0);
    EXPECT_EQ(found.source, "user's choice: epoch");
    EXPECT_THAT(startsOf(found), ElementsAre(10, 50));
}

TEST(StepFinder, OptimizersThatTakeTurnsEndOneStepTogether)
{
    std::vector<StepCandidate> updates;
    for (std::size_t i = 0; i < 6; ++i)
        updates.push_back({i % 2 == 0 ? "Optimizer.step#Adam.step" : "Optimizer.step#SGD.step", i, 1,
                           static_cast<std::int64_t>(100 * i + 50), static_cast<std::int64_t>(100 * i + 90),
                           false});
    const FoundSteps found = stepsFromRanges(updates, 0);
    EXPECT_THAT(startsOf(found), ElementsAre(0, 190, 390)) << "from one SGD.step to the next";
    updates[3].name = "Optimizer.step#Adam.step"; // now they do not take turns
    EXPECT_EQ(stepsFromRanges(updates, 0).steps.size(), 6u);
}

TEST(StepFinder, StepsOfJaxGoFromOneExecutionToTheNext)
{
    std::vector<StepCandidate> ranges;
    for (std::int64_t i = 0; i < 3; ++i) {
        ranges.push_back({"PjitFunction(train_step)", 0, 1, 100 * i, 100 * i + 40, false});
        ranges.push_back({"PjitFunction(train_step)", 0, 1, 100 * i + 1, 100 * i + 39, false});
        ranges.push_back({"PjitFunction(log)", 0, 1, 100 * i + 50, 100 * i + 55, false});
    }
    EXPECT_TRUE(mayDelimitSteps("PjitFunction(train_step)"));
    const FoundSteps found = stepsFromRanges(ranges, -5);
    EXPECT_EQ(found.source, "executions of train_step (JAX)");
    EXPECT_TRUE(found.isInferred);
    EXPECT_THAT(startsOf(found), ElementsAre(0, 100, 200));
    EXPECT_EQ(found.steps[0].end, 100);
    EXPECT_EQ(found.steps[2].end, 240) << "the last one is as long as its call";
}

TEST(StepFinder, StepsOfJaxAreModulesThatXlaNames)
{
    constexpr std::string_view kStep = "XlaModule:#prefix=args[0],hlo_module=jit_train_step,program_id=33#";
    constexpr std::string_view kUpdate = "XlaModule:#hlo_module=jit_subtract,program_id=80#";
    constexpr std::string_view kTried = "XlaModule:#hlo_module=gemm_fusion_dot.7#";
    EXPECT_TRUE(mayDelimitSteps(kStep));
    EXPECT_FALSE(mayDelimitSteps(kTried)) << "the autotuner tries it";
    std::vector<StepCandidate> ranges;
    for (std::int64_t i = 0; i < 5; ++i) {
        ranges.push_back({kStep, 0, 1, 100 * i, 100 * i + 20, false});
        for (std::int64_t k = 0; k < 6; ++k) // take longer together
            ranges.push_back({kUpdate, 0, 1, 100 * i + 30 + 10 * k, 100 * i + 39 + 10 * k, false});
    }
    const FoundSteps found = stepsFromRanges(ranges, -5);
    EXPECT_EQ(found.source, "executions of train_step (JAX)");
    EXPECT_THAT(startsOf(found), ElementsAre(0, 100, 200, 300, 400));

    std::vector<StepCandidate>
        all; // the set-up takes longer than all steps, and executes a function less often
    for (std::int64_t i = 0; i < 3; ++i)
        all.push_back(
            {"XlaModule:#hlo_module=jit__normal,program_id=2#", 0, 1, 300 * i - 900, 300 * i - 890, false});
    all.insert(all.end(), ranges.begin(), ranges.end());
    EXPECT_EQ(stepsFromRanges(all, -1000).source, "executions of train_step (JAX)");

    for (StepCandidate& each : ranges) // a function of the set-up
        if (each.name == kStep)
            each.start = each.end = 0;
    EXPECT_EQ(stepsFromRanges(ranges, -5).source, "executions of subtract (JAX)");
}

/// Eight periods of two kernels.
/// \param asGraph  one call launches all of them
void addPeriods(TraceBuilder& builder, ThreadId thread,
                const std::function<ForeignActivity(std::string, int, int)>& of, bool asGraph)
{
    for (int i = 0; i < 16; ++i) {
        const int correlation = asGraph ? 1 : i + 1;
        if (!asGraph || i == 0)
            builder.addApiCall(thread, asGraph ? "cudaGraphLaunch" : "cudaLaunchKernel",
                               static_cast<std::uint32_t>(correlation), timestampAt(100 * i),
                               timestampAt(100 * i + 10));
        builder.addActivity(of(i % 2 == 0 ? "gemm" : "softmax", correlation, 100 * i + 20));
    }
}

TEST_F(TraceBuilding, PeriodsOfOneGraphAreLayersAndNoSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    addPeriods(
        builder, thread,
        [&](const std::string& name, int correlation, int start) {
            return kernel(process, name, static_cast<std::uint32_t>(correlation), start, start + 50);
        },
        true);
    const store::RunReader reader = finished();
    EXPECT_TRUE(query::stepsOf(reader, run).empty());
}

TEST_F(TraceBuilding, PeriodsOfSeparateLaunchesAreSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    addPeriods(
        builder, thread,
        [&](const std::string& name, int correlation, int start) {
            return kernel(process, name, static_cast<std::uint32_t>(correlation), start, start + 50);
        },
        false);
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_GE(rows.size(), 7U);
    EXPECT_EQ(rows.front().source, "inferred");
}

TEST_F(TraceBuilding, StepsOfTheTypeThatTakesMostOfTheTimeAreTypical)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 10; ++i) {
        const bool validates = i == 4 || i == 9;
        builder.addRange(thread, (validates ? "eval_step " : "train_step ") + std::to_string(i),
                         at(1'000'000 * i), at(1'000'000 * i + (validates ? 300'000 : 900'000)));
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 10U);
    for (const query::StepRow& row : rows) {
        const bool validates = row.step == 4 || row.step == 9;
        EXPECT_EQ(row.type, validates ? StepType::Validation : StepType::Train) << row.step;
        EXPECT_EQ(row.leftOut, validates ? "is of type validation" : "") << row.step;
        EXPECT_EQ(row.source, "range");
    }
    const query::StepChoice choice = query::stepChoice(reader, run);
    EXPECT_THAT(choice.summary, HasSubstr("8 of 10 steps; steps 4 and 9 are of type validation"));
    EXPECT_TRUE(query::stepChoice(reader, run, {.allSteps = true}).leftOut.empty());
    const Table table =
        tableOf(std::make_shared<const query::StepsTable>(query::steps(reader, {.run = run})));
    EXPECT_THAT(table.notes,
                Contains(HasSubstr("8 train steps, mean 900 µs; 2 validation steps, mean 300 µs")));
    const Table paths =
        pathsOf(std::make_shared<const query::PathTable>(query::criticalPaths(reader, {.run = run})));
    EXPECT_THAT(paths.notes, Contains(HasSubstr("Mean of 8 typical steps: 900 µs")));
    EXPECT_THAT(paths.notes, Contains(HasSubstr("Mean of 2 validation steps: 300 µs")));
}

TEST_F(TraceBuilding, AMarkAtTheEndOfTheRecordingIsNoTypicalStep)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#1", at(0), at(9'290'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    builder.addRange(thread, "ProfilerStep#2", at(9'290'000), at(9'340'000));
    const store::RunReader reader = finished();
    const query::StepChoice choice = query::stepChoice(reader, run);
    EXPECT_EQ(choice.summary, "1 of 2 steps; step 2 has no work for the GPU (50.0 µs)");
    EXPECT_TRUE(choice.isTypical(0, 1)) << "the only step with work";
    EXPECT_EQ(choice.whyNot(0, 2), "has no work for the GPU, unlike the others");
}

TEST_F(TraceBuilding, TimeBeforeTheFirstStepHasItsCauses)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    constexpr std::int64_t kSecond = 1'000'000'000;
    builder.addApiCall(thread, "cudaDeviceGetStreamPriorityRange", 1, at(0), at(4 * kSecond));
    builder.addRange(thread, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at(4 * kSecond),
                     at(4 * kSecond + kSecond / 2));
    for (int i = 0; i < 2; ++i)
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at((5 + i) * kSecond),
                         at((6 + i) * kSecond));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(5 * kSecond + 1'000), at(5 * kSecond + 2'000));
    builder.addActivity(kernel(process, "gemm", 5, 5 * kSecond + 10'000, 5 * kSecond + 900'000));
    const store::RunReader reader = finished();
    const std::optional<query::StartPhase> start = query::startPhase(reader, run);
    ASSERT_TRUE(start);
    EXPECT_EQ(start->time.length().count(), 5 * kSecond);
    EXPECT_EQ(
        start->text(),
        "Before the first step: 5.00 s, of which 4.00 s of CUDA initialisation and 500 ms of data loading.");
}

TEST_F(TraceBuilding, ARecordingThatBeginsWithItsFirstStepHasNoTimeBefore)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#0", at(0), at(1'000'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    const store::RunReader reader = finished();
    EXPECT_FALSE(query::startPhase(reader, run));
}

TEST_F(TraceBuilding, AStepWhoseGpuWaitsForDataIsDataBound)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    const ThreadId other = builder.thread(process, 2);
    for (int i = 0; i < 2; ++i) {
        const std::int64_t start = i * 1'000'000;
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(start), at(start + 1'000'000));
        // In the second step, another thread loads.
        builder.addRange(i == 0 ? thread : other,
                         "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at(start + 1'000),
                         at(start + 700'000));
        builder.addApiCall(thread, "cudaLaunchKernel", 5 + static_cast<std::uint32_t>(i), at(start + 710'000),
                           at(start + 715'000));
        builder.addActivity(
            kernel(process, "gemm", 5 + static_cast<std::uint32_t>(i), start + 720'000, start + 900'000));
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(wordOf(rows[0].verdict()), "data-bound");
    EXPECT_EQ(wordOf(rows[1].verdict()), "launch-bound");
    const Table table =
        tableOf(std::make_shared<const query::StepsTable>(query::steps(reader, {.run = run})));
    const auto why = std::ranges::find(table.columns, "why", &Column::key);
    ASSERT_NE(why, table.columns.end());
    EXPECT_THAT(std::get<std::string>(why->cell(0)), HasSubstr("most of it to load data"));
}

TEST_F(TraceBuilding, AStepInWhichACollectiveWaitsForALateRankIsRankBound)
{
    for (int rank = 0; rank < 2; ++rank) {
        const ProcessIndex process = builder.addProcess({.pid = 10 + rank, .rank = rank});
        const ThreadId thread = builder.thread(process, 100 + rank);
        const std::int64_t late = rank == 0 ? 0 : 700'000; // its host is slow
        builder.addRange(thread, "ProfilerStep#0", at(0), at(1'000'000), SpanKind::Step);
        builder.addApiCall(thread, "cudaLaunchKernel", 1, at(2'000), at(5'000));
        builder.addActivity(kernel(process, "gemm", 1, 10'000, 200'000));
        builder.addApiCall(thread, "cudaLaunchKernel", 2, at(late + 202'000), at(late + 205'000));
        builder.addActivity(
            kernel(process, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, late + 210'000, 1'000'000));
        builder.addCollective(
            process, {.op = "all_reduce", .group = "0", .ranks = "0,1", .bytes = 8, .groupSize = 2}, 2);
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(wordOf(rows[0].verdict()), "rank-bound");
    EXPECT_EQ(wordOf(rows[1].verdict()), "launch-bound") << "the late one";
}

TEST_F(TraceBuilding, AMeanIsOfTheProcessesThatHaveSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1, .name = "python"});
    const ProcessIndex helper = builder.addProcess({.pid = 2, .name = "python"});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 2; ++i)
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(i * 1'000'000),
                         at((i + 1) * 1'000'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    builder.addActivity(kernel(helper, "gemm", 6, 10'000, 20'000));
    const store::RunReader reader = finished();
    EXPECT_EQ(query::advice(reader, run).process, "python 1");
}

TEST_F(TraceBuilding, ModulesInTheClosureOfAnOptimizerAreNoPartOfIt)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#1", at(0), at(100), SpanKind::Step);
    builder.addRange(thread, "Optimizer.step#LBFGS.step", at(10), at(90));
    builder.addRange(thread, "Net_0", at(20), at(50), SpanKind::Module);
    builder.addRange(thread, "Linear_0", at(30), at(40), SpanKind::Module);
    const store::RunReader reader = finished();
    std::vector<std::string> paths;
    reader.eachRange({.run = run}, [&](const Range& range) {
        paths.emplace_back(reader.text(range.path));
        return true;
    });
    EXPECT_THAT(paths, ::testing::UnorderedElementsAre("step", "step/Optimizer.step#LBFGS.step", "step/Net_0",
                                                       "step/Net_0/Linear_0"));
}

TEST_F(TraceBuilding, TheUserSaysWhichRangesAreSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 3; ++i) {
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(100 * i), at(100 * i + 90),
                         SpanKind::Step);
        builder.addRange(thread, "microbatch " + std::to_string(2 * i), at(100 * i), at(100 * i + 40));
        builder.addRange(thread, "microbatch " + std::to_string(2 * i + 1), at(100 * i + 40),
                         at(100 * i + 90));
    }
    run = builder.finish({.name = "x.json", .format = "test", .stepsBy = "microbatch"}, file, {});
    const std::vector<query::StepRow> rows = query::stepsOf(store::RunReader(file), run);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_EQ(rows[5].step, 5);
    EXPECT_EQ(rows[5].source, "user");
}

TEST_F(TraceBuilding, AnUnknownNameOfStepsIsRefusedWithTheNamesThatAreThere)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    builder.addRange(builder.thread(process, 1), "epoch 1", at(0), at(100));
    try {
        builder.finish({.name = "x.json", .format = "test", .stepsBy = "step"}, file, {});
        FAIL() << "no range has this name";
    } catch (const Error& error) {
        EXPECT_EQ(error.what, "no range is named 'step'");
        EXPECT_THAT(error.remedy, HasSubstr("'epoch' (1)"));
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

TEST_F(TraceBuilding, ARunOfManyGpusNamesTheFirstAndTheLast)
{
    const ProcessIndex process = builder.addProcess({.pid = 10, .name = "python"});
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu)
        builder.addActivity(kernel(process, "gemm", gpu + 1, 100, 200, static_cast<std::int32_t>(gpu)));
    EXPECT_EQ(finished().run(run).value().result.device, "cuda:0 to cuda:3");
}

TEST(StepFinder, FindsThePeriodOfKernelsAndBeginsAtTheLongestPause)
{
    std::vector<KernelInstant> kernels;
    std::int64_t time = 0;
    for (std::uint32_t name : {90U, 91U, 92U}) // set-up
        kernels.push_back({name, time += 10, time + 5});
    for (int step = 0; step < 6; ++step) {
        time += 1000; // pause before kernel 2 of the period
        for (const std::uint32_t name : {2U, 3U, 3U, 4U, 1U})
            kernels.push_back({name, time += 10, time + 5});
    }
    const FoundSteps found = stepsFromKernels(kernels);
    EXPECT_TRUE(found.isInferred);
    ASSERT_EQ(found.steps.size(), 6u);
    for (std::size_t i = 0; i < found.steps.size(); ++i)
        EXPECT_EQ(found.steps[i].start, kernels[3 + 5 * i].start);
}

TEST(StepFinder, FindsNoPeriodInIrregularKernels)
{
    std::vector<KernelInstant> kernels;
    for (std::uint32_t i = 0; i < 100; ++i)
        kernels.push_back({i * i % 97, i * 10, i * 10 + 5});
    EXPECT_TRUE(stepsFromKernels(kernels).steps.empty());
    EXPECT_TRUE(stepsFromKernels({}).steps.empty());
}

} // namespace
} // namespace tilescope::exchange
