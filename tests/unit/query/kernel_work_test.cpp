// Kernels with their work and counters, from a file written for this test.

#include "core/query/tables/kernel_work.h"

#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tilescope::query {
namespace {

using analysis::Work;

constexpr const char* kFfn = "step/forward/layers.0/ffn";
constexpr const char* kAttention = "step/forward/layers.0/attention";

bool never()
{
    return false;
}

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

    KernelWorkTable read(const KernelWorkQuery& query) const
    {
        const store::RunReader reader(file_);
        return kernelWork(reader, query, never);
    }

    static const KernelWorkRow& rowOf(const KernelWorkTable& table, std::string_view key)
    {
        const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                        [key](const KernelWorkRow& row) { return row.key == key; });
        if (found == table.rows.end())
            throw std::runtime_error("no row " + std::string(key));
        return *found;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

TEST_F(KernelWork, AddsUpTimeSpreadAndWorkByName)
{
    write(true);
    const KernelWorkTable table = read({.run = RunId{1}});
    ASSERT_EQ(table.rows.size(), 3u);
    const KernelWorkRow& gemm = table.rows[0];
    EXPECT_EQ(gemm.key, "nvjet_gemm");
    EXPECT_FALSE(gemm.shortName.empty());
    EXPECT_EQ(gemm.instances, 2);
    EXPECT_EQ(gemm.total, 120);
    EXPECT_EQ(gemm.shortest, 50);
    EXPECT_EQ(gemm.longest, 70);
    EXPECT_NEAR(gemm.standardDeviation.value(), std::sqrt(200.0), 1e-9);
    ASSERT_TRUE(gemm.work);
    EXPECT_EQ(*gemm.work, (Work{{120}, {2 * 4 * 36}}));
    EXPECT_NEAR(gemm.flopsPerSecond().value(), 120 / 120e-9, 1);
    EXPECT_FALSE(rowOf(table, "splitKreduce_kernel").work) << "the op's work belongs to the gemm";
    EXPECT_EQ(table.families.front(), (std::pair{analysis::KernelFamily::Matmul, std::int64_t{140}}));
    EXPECT_EQ(table.ranges, (std::vector<std::string>{kAttention, kFfn}));
}

TEST_F(KernelWork, IsLimitedToTheRequestedStepAndRange)
{
    write(true);
    const KernelWorkTable second = read({.run = RunId{1}, .step = 1});
    EXPECT_EQ(second.rows[0].total, 70);
    EXPECT_EQ(second.rows[0].work->flops.count, 60);
    const KernelWorkTable inside = read({.run = RunId{1}, .range = "step/forward/layers.0/attention"});
    ASSERT_EQ(inside.rows.size(), 1u);
    EXPECT_EQ(inside.rows[0].total, 80);
    EXPECT_TRUE(read({.run = RunId{1}, .range = "step/forward/layers.0/att"}).rows.empty())
        << "ranges match whole components";
}

TEST_F(KernelWork, GroupsByPlace)
{
    write(true);
    const KernelWorkTable modules = read({.run = RunId{1}, .grouping = Grouping::Module});
    EXPECT_EQ(rowOf(modules, "layers.0/ffn").total, 140);
    EXPECT_EQ(rowOf(modules, "layers.0/ffn").counted, 120);
    const KernelWorkTable phases = read({.run = RunId{1}, .grouping = Grouping::Phase});
    ASSERT_EQ(phases.rows.size(), 1u);
    EXPECT_EQ(phases.rows[0].total, 220);
    EXPECT_EQ(phases.rows[0].work->flops.count, 120 + 320);
}

TEST_F(KernelWork, GivesTheReasonForMissingWork)
{
    write(false);
    const KernelWorkTable table = read({.run = RunId{1}});
    EXPECT_FALSE(table.rows[0].work);
    EXPECT_NE(table.whyNoWork.find("--shapes true"), std::string::npos) << table.whyNoWork;
    EXPECT_NE(table.whyNoTensor.find("--counters"), std::string::npos) << table.whyNoTensor;
}

TEST_F(KernelWork, ACounterOfARangeIsAKernelsOnlyWhereNothingElseRanInIt)
{
    write(true, {{kFfn, "tensor_active", 40, "%", 2, 1}, {kAttention, "tensor_active", 0, "%", 2, 1}});
    const KernelWorkTable names = read({.run = RunId{1}});
    EXPECT_FALSE(rowOf(names, "nvjet_gemm").tensorActive) << "the split-K part took a seventh of the range";
    EXPECT_EQ(rowOf(names, "softmax_warp_forward").tensorActive, 0);
    EXPECT_TRUE(names.whyNoTensor.empty());
    const KernelWorkTable ranges = read({.run = RunId{1}, .grouping = Grouping::Range});
    EXPECT_EQ(rowOf(ranges, kFfn).tensorActive, 40);
}

TEST_F(KernelWork, IsEmptyIfCancelled)
{
    write(true);
    const store::RunReader reader(file_);
    EXPECT_TRUE(kernelWork(reader, {.run = RunId{1}}, [] { return true; }).rows.empty());
}

} // namespace
} // namespace tilescope::query
