// The recordings for the pictures of the window are consistent and contain every state.

#include "core/query/file_session.h"
#include "core/query/overview/run_overview.h"
#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

class UiFixtureTest : public ::testing::Test {
protected:
    void write(void (*file)(const std::filesystem::path&))
    {
        file(folder_ / "r.tscope");
        session_ = std::make_unique<query::FileSession>(folder_ / "r.tscope");
        snapshot_ = session_->snapshot();
    }

    // Counts finished runs with and without a trace, and those that ran out of memory.
    void countRuns()
    {
        for (const query::RunSummary& run : snapshot_.runs) {
            oom_ += run.result.status == RunStatus::Oom ? 1 : 0;
            if (run.result.status != RunStatus::Ok)
                continue;
            const store::EventCounts counts = session_->reader().counts(run.run);
            (counts.deviceEvents + counts.ops > 0 ? traced_ : untraced_) += 1;
        }
    }

    // A traced step takes a few per cent more than a timed one, as the result says.
    void expectTracingCosts()
    {
        for (const query::RunSummary& run : snapshot_.runs) {
            if (run.result.status != RunStatus::Ok)
                continue;
            const query::RunOverview overview =
                query::runOverview(session_->reader(), run.run, testing::kNotCancelled);
            if (!overview.step)
                continue;
            ASSERT_TRUE(run.step && run.result.traceOverhead);
            const double cost = overview.step->wall / (run.step->median * 1e6);
            EXPECT_GT(cost, 1.0) << run.run.value;
            EXPECT_LT(cost, 1.1) << run.run.value;
            EXPECT_NEAR(cost, *run.result.traceOverhead, 0.03) << run.run.value;
        }
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<query::FileSession> session_;
    query::FileSnapshot snapshot_;
    int traced_ = 0;
    int untraced_ = 0;
    int oom_ = 0;
};

TEST_F(UiFixtureTest, TheGpusHasEightRunsTracedAndNotAndOneWithoutMemory)
{
    write(test::writeGpuFile);
    countRuns();
    EXPECT_EQ(traced_ + untraced_, 8);
    EXPECT_GE(traced_, 2);
    EXPECT_GE(untraced_, 2);
    EXPECT_EQ(oom_, 1);
}

TEST_F(UiFixtureTest, TheStudysHasEightRunsTracedAndNotAndOneWithoutMemory)
{
    write(test::writeStudyFile);
    countRuns();
    EXPECT_EQ(traced_ + untraced_, 8);
    EXPECT_GE(traced_, 2);
    EXPECT_GE(untraced_, 2);
    EXPECT_EQ(oom_, 1);
    expectTracingCosts();
}

TEST_F(UiFixtureTest, StepsKernelsAndFlopsOfTheGpuFitTogether)
{
    write(test::writeGpuFile);
    expectTracingCosts();
    for (const query::RunSummary& run : snapshot_.runs) {
        if (run.result.status != RunStatus::Ok)
            continue;
        const query::RunOverview overview =
            query::runOverview(session_->reader(), run.run, testing::kNotCancelled);
        ASSERT_TRUE(overview.utilisation && overview.utilisation->mfu()) << run.run.value;
        EXPECT_GT(*overview.utilisation->mfu(), 0.2) << run.run.value;
        EXPECT_LT(*overview.utilisation->mfu(), 0.8) << run.run.value;
        if (!overview.step)
            continue;
        // The matrix products do the FLOPs of the model at a rate that the device can reach.
        double matmul = 0;
        for (const query::FamilyShare& share : overview.families)
            if (share.hue == query::Hue::Matmul)
                matmul = share.perStep;
        ASSERT_GT(matmul, 0);
        const double flops = overview.utilisation->flopsPerSecond * run.step->median * 1e-3;
        const double share = flops / (matmul * 1e-9) / *overview.utilisation->sheetCeiling;
        EXPECT_GT(share, 0.3) << run.run.value;
        EXPECT_LT(share, 0.9) << run.run.value;
    }
}

} // namespace
} // namespace tilescope::ui
