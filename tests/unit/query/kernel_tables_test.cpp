// Kernels with their work and counters, from a file written for this test.

#include "core/query/kernels/kernel_tables.h"

#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::query {
namespace {

using namespace tilescope::literals;
using analysis::Work;

constexpr const char* kFfn = "step/forward/layers.0/ffn";
constexpr const char* kAttention = "step/forward/layers.0/attention";

// Two steps; in each a linear of 60 FLOPs by a gemm of 50 or 70 ns with a split-K part, and a softmax.
void addStep(testing::FakeTrace& trace, std::int32_t step, std::int64_t at, std::int64_t gemm, bool shapes)
{
    trace.step(step, at, at + 1000);
    trace.op("aten::linear", at, at + 90).at(kFfn);
    if (shapes)
        trace.shaped("[2, 3] [5, 3] [5]");
    const OpId linear = trace.lastOp();
    trace.kernel("nvjet_gemm", at + 100, at + 100 + gemm).at(kFfn).by(linear);
    trace.kernel("splitKreduce_kernel", at + 200, at + 210).at(kFfn).by(linear);
    trace.op("aten::_softmax", at + 90, at + 95).at(kAttention);
    if (shapes)
        trace.shaped("[4, 8]");
    trace.kernel("softmax_warp_forward", at + 300, at + 340).at(kAttention).by(trace.lastOp());
}

class KernelWork : public ::testing::Test {
protected:
    void write(bool shapes, const std::vector<CounterValue>& counters = {})
    {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        testing::FakeTrace trace(strings);
        addStep(trace, 0, 0, 50, shapes);
        addStep(trace, 1, 2000, 70, shapes);
        writer.write(trace.batch());
        writer.writeCounters(counters);
        writer.endRun({});
    }

    KernelsTable read(KernelQuery query) const
    {
        query.work = true;
        return kernels(store::RunReader(file_), query);
    }

    static const KernelRow& rowOf(const KernelsTable& table, std::string_view key)
    {
        const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                        [key](const KernelRow& row) { return row.key == key; });
        if (found == table.rows.end())
            throw std::runtime_error("no row " + std::string(key));
        return *found;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

TEST_F(KernelWork, TypesOfOpsSayWhichCeilingsApplyToARecordingWithoutASpec)
{
    {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        writer.beginRun({"rank0.json", "trace", "", "", "test"});
        writer.writeEnvironment(std::vector{EnvironmentEntry{"gpu.name", "NVIDIA H200"}});
        testing::FakeTrace trace(strings);
        trace.op("aten::mm", 0, 90).at(kFfn);
        trace.shaped("bf16[2, 3] bf16[3, 5]");
        trace.kernel("nvjet_gemm", 100, 150).at(kFfn).by(trace.lastOp());
        writer.write(trace.batch());
        RunResult end;
        end.device = "cuda:0";
        writer.endRun(end);
    }
    const KernelsTable table = read({});
    ASSERT_TRUE(table.ceilings.sheet.flops) << table.ceilings.sheetFrom;
    EXPECT_GT(*table.ceilings.sheet.flops, 900e12) << "that of bf16, not of fp32";
    EXPECT_EQ(table.ceilings.sheet.flops, roofline(store::RunReader(file_), {}).ceilings.sheet.flops);
}

TEST_F(KernelWork, OfATimeSpanCountsThePartsInIt)
{
    write(true);
    const store::RunReader reader(file_);
    const std::vector<DeviceEvent> events = reader.deviceEvents({.run = RunId{1}});
    const Timestamp origin = reader.span(RunId{1})->first;
    for (const auto& [from, to] :
         {std::pair(0_ns, 5000_ns), {120_ns, 205_ns}, {310_ns, 2130_ns}, {150_ns, 151_ns}}) {
        std::map<std::string, std::int64_t> expected;
        for (const DeviceEvent& event : events) {
            const Timestamp start = std::max(event.start, origin + from);
            const Timestamp end = std::min(event.end, origin + to);
            if (end > start)
                expected[std::string(reader.text(event.name))] += (end - start).count();
        }
        const KernelsTable table = read({.run = RunId{1}, .span = TimeSpan{from, to}});
        std::map<std::string, std::int64_t> found;
        for (const KernelRow& row : table.rows)
            found[row.key] = row.total.count();
        EXPECT_EQ(found, expected) << from.count() << " to " << to.count();
        EXPECT_FALSE(table.whyNoWork.empty()) << "parts of kernels have no rates";
    }
}

TEST_F(KernelWork, AddsUpTimeSpreadAndWorkByName)
{
    write(true);
    const KernelsTable table = read({.run = RunId{1}});
    ASSERT_EQ(table.rows.size(), 3u);
    const KernelRow& gemm = table.rows[0];
    EXPECT_EQ(gemm.key, "nvjet_gemm");
    EXPECT_FALSE(gemm.shortName.empty());
    EXPECT_EQ(gemm.instances, 2);
    EXPECT_EQ(gemm.total, 120_ns);
    EXPECT_EQ(gemm.shortest, 50_ns);
    EXPECT_EQ(gemm.longest, 70_ns);
    EXPECT_NEAR(gemm.standardDeviation.value(), std::sqrt(200.0), 1e-9);
    ASSERT_TRUE(gemm.work);
    EXPECT_EQ(*gemm.work, (Work{{120}, {2 * 4 * 36}}));
    EXPECT_NEAR(analysis::flopsPerSecond(*gemm.work, gemm.counted).value(), 120 / 120e-9, 1);
    EXPECT_FALSE(rowOf(table, "splitKreduce_kernel").work) << "the op's work belongs to the gemm";
    EXPECT_EQ(table.families.front(), (std::pair{analysis::KernelFamily::Matmul, std::int64_t{140}}));
    EXPECT_EQ(table.ranges, (std::vector<std::string>{kAttention, kFfn}));
}

TEST_F(KernelWork, IsLimitedToTheRequestedStepAndRange)
{
    write(true);
    const KernelsTable second = read({.run = RunId{1}, .step = 1});
    EXPECT_EQ(second.rows[0].total, 70_ns);
    EXPECT_EQ(second.rows[0].work->flops.count, 60);
    const KernelsTable inside = read({.run = RunId{1}, .range = "step/forward/layers.0/attention"});
    ASSERT_EQ(inside.rows.size(), 1u);
    EXPECT_EQ(inside.rows[0].total, 80_ns);
    EXPECT_TRUE(read({.run = RunId{1}, .range = "step/forward/layers.0/att"}).rows.empty())
        << "ranges match whole components";
}

TEST_F(KernelWork, GroupsByPlace)
{
    write(true);
    const KernelsTable modules = read({.run = RunId{1}, .grouping = Grouping::Module});
    EXPECT_EQ(rowOf(modules, "layers.0/ffn").total, 140_ns);
    EXPECT_EQ(rowOf(modules, "layers.0/ffn").counted, 120_ns);
    const KernelsTable phases = read({.run = RunId{1}, .grouping = Grouping::Phase});
    ASSERT_EQ(phases.rows.size(), 1u);
    EXPECT_EQ(phases.rows[0].total, 220_ns);
    EXPECT_EQ(phases.rows[0].work->flops.count, 120 + 320);
}

TEST_F(KernelWork, GivesTheReasonForMissingWork)
{
    write(false);
    const KernelsTable table = read({.run = RunId{1}});
    EXPECT_FALSE(table.rows[0].work);
    EXPECT_NE(table.whyNoWork.find("--shapes true"), std::string::npos) << table.whyNoWork;
    EXPECT_NE(table.whyNoTensor.find("--counters"), std::string::npos) << table.whyNoTensor;
}

TEST_F(KernelWork, ACounterOfARangeIsAKernelsOnlyWhereNothingElseRanInIt)
{
    write(true, {{kFfn, "tensor_active", 40, "%", 2, 1}, {kAttention, "tensor_active", 0, "%", 2, 1}});
    const KernelsTable names = read({.run = RunId{1}});
    EXPECT_FALSE(rowOf(names, "nvjet_gemm").tensorActive) << "the split-K part took a seventh of the range";
    EXPECT_EQ(rowOf(names, "softmax_warp_forward").tensorActive, 0);
    EXPECT_TRUE(names.whyNoTensor.empty());
    const KernelsTable ranges = read({.run = RunId{1}, .grouping = Grouping::Range});
    EXPECT_EQ(rowOf(ranges, kFfn).tensorActive, 40);
}

TEST_F(KernelWork, IsEmptyIfCancelled)
{
    write(true);
    const store::RunReader reader(file_);
    EXPECT_TRUE(kernels(reader, {.run = RunId{1}}, [] { return true; }).rows.empty());
}

class KernelTimes : public ::testing::Test {
protected:
    KernelsTable read(testing::FakeTrace& trace, StringTable& strings, const KernelQuery& query) const
    {
        {
            store::RunWriter writer(file_, strings);
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            writer.write(trace.batch());
            writer.endRun({});
        }
        return kernels(store::RunReader(file_), query);
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

TEST_F(KernelTimes, AreSummedByGroupTheCostliestFirst)
{
    StringTable strings;
    testing::FakeTrace trace(strings);
    trace.step(0, 0, 100).kernel("a", 0, 10).kernel("b", 10, 15).kernel("a", 20, 24);
    trace.step(1, 100, 200).kernel("a", 100, 130);
    trace.betweenSteps().kernel("a", 300, 400);
    const KernelsTable table = read(trace, strings, {.countSteps = true});
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(table.rows[0].instances, 3);
    EXPECT_EQ(table.rows[0].steps, 2);
    EXPECT_EQ(table.rows[0].instancesPerStep(), 1.5);
    EXPECT_EQ(table.rows[0].total, 44_ns);
    EXPECT_EQ(table.rows[0].shortest, 4_ns);
    EXPECT_EQ(table.rows[0].longest, 30_ns);
    EXPECT_EQ(table.rows[0].average(), 14_ns);
    EXPECT_EQ(table.rows[1].steps, 1);
    EXPECT_EQ(table.events, 5);
    EXPECT_EQ(table.outsideSteps, 1);
    EXPECT_EQ(table.total, 49_ns);
}

TEST_F(KernelTimes, CountAStepThatComesBackOnce)
{
    StringTable strings;
    testing::FakeTrace trace(strings);
    trace.step(0, 0, 10).kernel("a", 0, 1);
    trace.step(1, 10, 20).kernel("a", 10, 11);
    trace.step(0, 20, 30).kernel("a", 20, 21);
    EXPECT_EQ(read(trace, strings, {.countSteps = true}).rows[0].steps, 2);
}

TEST_F(KernelTimes, AreSummedByTheOpThatLaunched)
{
    StringTable strings;
    testing::FakeTrace trace(strings);
    trace.step(0, 0, 100).op("aten::mm", 0, 5);
    trace.kernel("a", 10, 20).by(trace.lastOp()).kernel("b", 20, 30).by(trace.lastOp()).kernel("c", 30, 31);
    const KernelsTable table = read(trace, strings, {.grouping = Grouping::Op});
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(table.rows[0].key, "aten::mm");
    EXPECT_EQ(table.rows[0].kernels, 2);
    EXPECT_EQ(table.rows[1].key, kUnattributed);
}

} // namespace
} // namespace tilescope::query
