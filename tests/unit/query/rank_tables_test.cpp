#include "core/query/ranks/rank_tables.h"

#include "core/base/error.h"
#include "core/query/steps/step_tables.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using testing::FakeRanks;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RankTables : public ::testing::Test {
protected:
    store::RunReader fileOf(const FakeRanks& facts)
    {
        testing::writeFakeRanks(file_, facts);
        return store::RunReader(file_);
    }
    /// A run of one process.
    store::RunReader fileOf(testing::FakeTrace& trace, const std::string& device)
    {
        return fileOf(TraceBatch(trace.batch()), trace.strings(), device);
    }
    store::RunReader fileOf(TraceBatch batch, StringTable& strings, const std::string& device)
    {
        store::RunWriter writer(file_, strings);
        writer.beginRun({"one", "lm", "{}", "hash", "test"});
        writer.write(batch);
        RunResult result;
        result.device = device;
        writer.endRun(result);
        return store::RunReader(file_);
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "ranks.tscope";
};

/// Two ranks with two steps of a collective each, which rank 1 begins 0.8 ms late, and then 2 ms. It begins the second step 0.8 ms late.
/// \param wait  until when both hosts wait for their GPUs at the beginning of the second step
TraceBatch lateTwice(StringTable& strings, std::optional<std::int64_t> wait)
{
    TraceBatch batch;
    const auto add = [&](std::int32_t rank, std::int32_t step, std::int64_t begin, std::int64_t start,
                         std::int64_t end) {
        const ThreadId thread{static_cast<std::uint32_t>(10 + rank)};
        const DeviceIndex device{static_cast<std::int16_t>(rank)};
        if (step == 0)
            batch.threads.push_back({thread, strings.intern("main"), ProcessIndex{rank}, 100 + rank});
        Range range;
        range.id = RangeId{static_cast<std::uint32_t>(10 * rank + step)};
        range.path = range.name = strings.intern("step");
        range.thread = thread;
        range.step = step;
        range.start = timestampAt(begin);
        range.end = timestampAt(end);
        batch.ranges.push_back(range);
        DeviceEvent event;
        event.name = strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
        event.path = strings.intern("step");
        event.device = device;
        event.stream = StreamId{static_cast<std::uint32_t>(20 + rank)};
        event.correlation = CorrelationId{static_cast<std::uint32_t>(100 * rank + step + 1)};
        event.launchThread = thread;
        event.step = step;
        event.launched = timestampAt(start - 10'000);
        event.start = timestampAt(start);
        event.end = timestampAt(end - 100'000);
        batch.deviceEvents.push_back(event);
        Collective record;
        record.process = ProcessIndex{rank};
        record.op = strings.intern("all_reduce");
        record.group = strings.intern("0");
        record.ranks = strings.intern("0,1");
        record.sequence = step;
        record.groupSize = 2;
        record.device = device;
        record.stream = event.stream;
        record.thread = thread;
        record.correlation = event.correlation;
        record.path = event.path;
        record.step = step;
        record.start = event.start;
        record.end = event.end;
        batch.collectives.push_back(record);
        if (step == 1 && wait) {
            ApiCall call;
            call.name = strings.intern("cudaStreamSynchronize");
            call.kind = ApiKind::Synchronize;
            call.thread = thread;
            call.step = step;
            call.start = timestampAt(begin + 1'000);
            call.end = timestampAt(*wait);
            batch.apiCalls.push_back(call);
        }
    };
    add(0, 0, 1'000'000, 2'000'000, 9'000'000);
    add(1, 0, 1'000'000, 2'800'000, 9'000'000);
    add(0, 1, 10'000'000, 12'000'000, 19'000'000);
    add(1, 1, 10'800'000, 14'000'000, 19'000'000);
    return batch;
}

TEST_F(RankTables, AHostThatWaitsForItsGpuHasCaughtUp)
{
    const auto lateIn = [this](std::optional<std::int64_t> wait) {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        writer.beginRun({"two", "trace", R"({"workload":"trace","file":"two"})",
                         "hash" + std::to_string(wait.has_value()), "test"});
        writer.writeTopology(
            {.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}},
             .processes = {{.id = ProcessIndex{0},
                            .pid = 100,
                            .host = "node",
                            .rank = 0,
                            .worldSize = 2,
                            .clock = ClockIndex{0}},
                           {.id = ProcessIndex{1},
                            .pid = 101,
                            .host = "node",
                            .rank = 1,
                            .worldSize = 2,
                            .clock = ClockIndex{0}}},
             .devices = {{.id = DeviceIndex{0}}, {.id = DeviceIndex{1}}},
             .streams = {
                 {.device = DeviceIndex{0}, .id = StreamId{20}, .process = ProcessIndex{0}, .native = 7},
                 {.device = DeviceIndex{1}, .id = StreamId{21}, .process = ProcessIndex{1}, .native = 7}}});
        const TraceBatch batch = lateTwice(strings, wait);
        writer.write(batch);
        RunResult result;
        result.device = "cuda:0, cuda:1";
        writer.endRun(result);
        const RanksTable table = ranks(store::RunReader(file_), {});
        EXPECT_EQ(table.collectives.size(), 2U);
        EXPECT_EQ(table.collectives.at(0).late, 800'000_ns);
        EXPECT_EQ(table.collectives.at(1).lastRank, 1);
        return table.collectives.at(1).late;
    };
    EXPECT_EQ(lateIn({}), 1'200'000_ns) << "of the 2 ms, the step begins with 0.8";
    EXPECT_EQ(lateIn(11'000'000), 2'000'000_ns);
}

TEST_F(RankTables, DivideTheBusyTimeOfTheTableOfSteps)
{
    const store::RunReader reader = fileOf(FakeRanks{.ranks = 4});
    const RanksTable table = ranks(reader, {});
    const StepsTable steps = query::steps(reader, {});
    ASSERT_EQ(table.rows.size(), 32U);
    ASSERT_EQ(steps.rows.size(), 32U);
    for (const RankRow& row : table.rows) {
        const auto step = std::ranges::find_if(
            steps.rows, [&](const StepRow& each) { return each.rank == row.rank && each.step == row.step; });
        ASSERT_NE(step, steps.rows.end());
        const analysis::StepPartition& whole = step->partition;
        const analysis::RankStep& parts = row.parts;
        EXPECT_EQ(parts.wall, whole.wall);
        EXPECT_EQ(parts.compute + parts.exposedCommunication + parts.exposedCopies, whole.gpuBusy);
        EXPECT_EQ(parts.host, whole.launching + whole.synchronizing + whole.tracing);
        EXPECT_EQ(parts.idle, whole.unexplained);
        EXPECT_EQ(parts.compute, 4 * 1'000'000_ns + 4 * 1'200'000_ns + 800'000_ns);
        EXPECT_EQ(parts.exposedCopies, 30'000_ns);
        // On the rank that waits for nobody, the gather, the all-reduce before its stall and the last one lie beside no
        // kernel.
        if (row.isLast) {
            EXPECT_EQ(parts.exposedCommunication, 3 * Nanoseconds(FakeRanks::kTransfer));
            EXPECT_EQ(parts.overlapped, 2 * Nanoseconds(FakeRanks::kTransfer));
        }
    }
}

TEST_F(RankTables, FindThePlantedDelayExactly)
{
    const RanksTable table = ranks(fileOf(FakeRanks{.ranks = 3, .lateRank = 2}), {});
    for (const RankRow& row : table.rows) {
        EXPECT_EQ(row.late, row.rank == 2 ? 2'000'000_ns : 0_ns);
        EXPECT_EQ(row.isLast, row.rank == 2);
    }
    ASSERT_EQ(table.collectives.size(), 8U * FakeRanks::kCollectives);
    for (const CollectiveRow& row : table.collectives) {
        EXPECT_EQ(row.transfer, Nanoseconds(FakeRanks::kTransfer));
        EXPECT_EQ(row.late, row.range == "step/backward/layers.1" ? 2'000'000_ns : 0_ns) << row.range;
        ASSERT_TRUE(row.bandwidth);
        EXPECT_DOUBLE_EQ(row.bandwidth->algorithm, double(FakeRanks::kBytes) / FakeRanks::kTransfer)
            << row.op;
        EXPECT_DOUBLE_EQ(row.bandwidth->bus,
                         row.bandwidth->algorithm * (row.op == "all_reduce" ? 4.0 : 2.0) / 3);
    }
    EXPECT_EQ(table.straggler.kind, analysis::StragglerVerdict::Kind::Straggler);
    EXPECT_EQ(table.sentence(),
              "Straggler: rank 2, last in 8 of 8 steps (by chance with probability 0.000457), late by "
              "2.00 ms in the median (2.00 ms to 2.00 ms).");
}

TEST_F(RankTables, SayThatTwoStepsAllowNoVerdict)
{
    const RanksTable table = ranks(fileOf(FakeRanks{.steps = 2}), {});
    EXPECT_EQ(table.sentence(),
              "Last in 2 of 2 steps: rank 1, late by 2.00 ms in the median (2.00 ms to 2.00 ms). 2 steps "
              "allow no straggler verdict: it takes at least 6.");
}

TEST_F(RankTables, NameNobodyWhereNobodyIsLate)
{
    const RanksTable table = ranks(fileOf(FakeRanks{.delay = 0}), {});
    for (const RankRow& row : table.rows)
        EXPECT_FALSE(row.isLast);
    EXPECT_EQ(table.sentence(),
              "No rank was last more often than another. 0 steps allow no straggler verdict: it takes "
              "at least 6.");
}

TEST_F(RankTables, TellHowLongAStreamStoodStillForAGather)
{
    const RanksTable table = ranks(fileOf(FakeRanks{}), {});
    const CollectiveRow& gather = table.collectives.front();
    ASSERT_EQ(gather.op, "all_gather");
    const CollectiveRank* const tightest = gather.tightest();
    ASSERT_TRUE(tightest);
    EXPECT_EQ(tightest->neededBy, "gemm_forward");
    EXPECT_EQ(tightest->slack->slack, 5'000_ns);
    EXPECT_EQ(tightest->slack->rule, analysis::SlackRule::Module);
    EXPECT_EQ(tightest->slack->stall, 5'000_ns) << "the kernel was launched 10 µs before it started";
    EXPECT_FALSE(table.collectives[1].tightest());
}

TEST_F(RankTables, AreOfTheRankAndTheStepAskedFor)
{
    const store::RunReader reader = fileOf(FakeRanks{});
    const RanksTable table = ranks(reader, {.topology = {.rank = 0}, .step = 3});
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].step, 3);
    EXPECT_EQ(table.rows[0].rank, 0);
    ASSERT_EQ(table.collectives.size(), std::size_t(FakeRanks::kCollectives));
    const CollectiveRow& delayed = table.collectives[3];
    EXPECT_EQ(delayed.last, "rank 1");
    EXPECT_EQ(delayed.ranks.size(), 1U);
    EXPECT_EQ(delayed.wait(), 2'000'000_ns) << "of rank 0";
    EXPECT_EQ(table.straggler.steps, 8) << "of the whole run";
    EXPECT_THROW(ranks(reader, {.topology = {.rank = 2}}), Error);
    EXPECT_THAT(ranks(reader, {.step = 99}).rows, IsEmpty());
}

TEST_F(RankTables, OfATimeSpanHaveThePartsOfStepsInIt)
{
    const store::RunReader reader = fileOf(FakeRanks{.ranks = 2});
    const RanksTable whole = ranks(reader, {});
    const auto ofSpan = [&](Nanoseconds from, Nanoseconds to) {
        return ranks(reader, {.span = TimeSpan{from, to}});
    };
    // Cut anywhere, the parts add up to the whole.
    for (const auto cut : {7'000'000_ns, 31'500'000_ns, 90'000'001_ns}) {
        analysis::RankStep sums[3] = {};
        const RanksTable before = ofSpan(0_ns, cut);
        const RanksTable after = ofSpan(cut, Nanoseconds::max());
        const RanksTable* const tables[] = {&whole, &before, &after};
        for (std::size_t i = 0; i < 3; ++i)
            for (const RankRow& row : tables[i]->rows) {
                sums[i].wall.end += row.parts.wall.length();
                sums[i].compute += row.parts.compute;
                sums[i].exposedCommunication += row.parts.exposedCommunication;
                sums[i].exposedCopies += row.parts.exposedCopies;
                sums[i].overlapped += row.parts.overlapped;
            }
        EXPECT_EQ(sums[1].wall.length() + sums[2].wall.length(), sums[0].wall.length());
        EXPECT_EQ(sums[1].compute + sums[2].compute, sums[0].compute);
        EXPECT_EQ(sums[1].exposedCommunication + sums[2].exposedCommunication, sums[0].exposedCommunication);
        EXPECT_EQ(sums[1].exposedCopies + sums[2].exposedCopies, sums[0].exposedCopies);
        EXPECT_EQ(sums[1].overlapped + sums[2].overlapped, sums[0].overlapped);
        EXPECT_GE(before.collectives.size() + after.collectives.size(), whole.collectives.size());
        EXPECT_EQ(before.straggler.steps, whole.straggler.steps) << "of the whole run";
    }
    EXPECT_THAT(ofSpan(1'000'000'000'000_ns, Nanoseconds::max()).rows, IsEmpty());
}

TEST_F(RankTables, StateTheRanksThatAreMissing)
{
    const RanksTable table = ranks(fileOf(FakeRanks{.ranks = 4, .unrecorded = 2}), {});
    EXPECT_EQ(table.rankCount, 2U);
    EXPECT_EQ(table.incomplete, 8 * FakeRanks::kCollectives);
    EXPECT_THAT(table.collectives[0].missing, ElementsAre(2, 3));
    EXPECT_THAT(table.collectives[0].last, IsEmpty());
    EXPECT_THAT(table.sentence(), HasSubstr("who is late is unknown"));
}

TEST_F(RankTables, DoNotCountTheProcessThatStartedThem)
{
    EXPECT_EQ(ranks(fileOf(FakeRanks{.ranks = 3, .hasLauncher = true}), {}).rankCount, 3U);
}

TEST_F(RankTables, OfOneProcessOnAGpuHaveAPartitionButNoVerdict)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 100)
        .kernel("gemm", 10, 40)
        .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30, 60)
        .on(17);
    const RanksTable table = ranks(fileOf(trace, "cuda:0"), {});
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].parts.compute, 30_ns);
    EXPECT_EQ(table.rows[0].parts.exposedCommunication, 20_ns);
    EXPECT_EQ(table.rows[0].parts.overlapped, 10_ns);
    EXPECT_FALSE(table.rows[0].late);
    EXPECT_EQ(table.rankCount, 1U);
    EXPECT_EQ(table.sentence(), "The run has one process: no other rank can be late.");
}

TEST_F(RankTables, CountCopiesBetweenGpusAsCommunication)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 100).kernel("gemm", 10, 40).memset(8, 30, 60).on(17).memset(8, 60, 65).on(17);
    TraceBatch batch(trace.batch());
    batch.deviceEvents[1].kind = DeviceEventKind::Memcpy;
    batch.deviceEvents[1].copy = CopyKind::PeerToPeer;
    const RanksTable table = ranks(fileOf(std::move(batch), trace.strings(), "cuda:0"), {});
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].parts.compute, 30_ns);
    EXPECT_EQ(table.rows[0].parts.exposedCommunication, 20_ns);
    EXPECT_EQ(table.rows[0].parts.overlapped, 10_ns);
    EXPECT_EQ(table.rows[0].parts.exposedCopies, 5_ns);
}

TEST_F(RankTables, OnACpuOpsAreCompute)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 100).op("aten::mm", 10, 40).op("c10d::allreduce_", 40, 70);
    const RanksTable table = ranks(fileOf(trace, "cpu"), {});
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].parts.compute, 30_ns);
    EXPECT_EQ(table.rows[0].parts.idle, 70_ns);
}

TEST_F(RankTables, EndEarlyWhereCancelled)
{
    const RanksTable table = ranks(fileOf(FakeRanks{}), {}, [] { return true; });
    EXPECT_THAT(table.rows, IsEmpty());
    EXPECT_THAT(table.collectives, IsEmpty());
}

} // namespace
} // namespace tilescope::query
