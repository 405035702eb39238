#include "core/query/runs/run_kernels.h"

#include "core/query/kernels/kernel_tables.h"
#include "core/query/ranks/rank_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using namespace tilescope::literals;
using analysis::KernelFamily;

class LaunchedKernels : public ::testing::Test {
protected:
    /// A kernel of 10 ns that an op launched.
    void launch(std::string_view op, std::string_view kernel, int times = 1)
    {
        for (int i = 0; i < times; ++i, at_ += 10) {
            trace_.op(op, at_, at_ + 5);
            trace_.kernel(kernel, at_, at_ + 10).by(trace_.lastOp());
        }
    }

    KernelFamily familyOf(std::string_view kernel)
    {
        if (!reader_) {
            StringTable& strings = trace_.strings();
            store::RunWriter writer(file_, strings);
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            writer.write(trace_.batch());
            writer.endRun({});
            reader_.emplace(file_);
        }
        RunKernels kernels(*reader_, RunId{1});
        return kernels.familyOf(reader_->find(kernel), DeviceEventKind::Kernel);
    }

    testing::FakeTrace trace_;
    std::int64_t at_ = 0;
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_.path() / "run.tscope";
    std::optional<store::RunReader> reader_;
};

TEST_F(LaunchedKernels, HaveTheFamilyOfTheirOpWhereTheNameSaysNothing)
{
    trace_.step(0, 0, 1000);
    launch("aten::convolution", "engine_17");
    launch("vllm::all_reduce", "kernel_0");
    launch("vllm::unified_attention", "_inner_loop");
    launch("aten::convolution", "softmax_warp_forward");
    launch("aten::view", "mystery");
    launch("some::thing", "riddle");
    EXPECT_EQ(familyOf("engine_17"), KernelFamily::Convolution);
    EXPECT_EQ(familyOf("kernel_0"), KernelFamily::Collective);
    EXPECT_EQ(familyOf("_inner_loop"), KernelFamily::Attention);
    EXPECT_EQ(familyOf("softmax_warp_forward"), KernelFamily::Softmax) << "its name decides";
    EXPECT_EQ(familyOf("mystery"), KernelFamily::Other) << "a view says nothing, either";
    EXPECT_EQ(familyOf("riddle"), KernelFamily::Other);
}

TEST_F(LaunchedKernels, StayOtherWhereOpsOfSeveralKindsLaunchThem)
{
    trace_.step(0, 0, 1000);
    launch("aten::mm", "shared_kernel", 8);
    launch("aten::softmax", "shared_kernel", 2);
    launch("aten::mm", "nearly_one", 19);
    launch("aten::softmax", "nearly_one", 1);
    EXPECT_EQ(familyOf("shared_kernel"), KernelFamily::Other);
    EXPECT_EQ(familyOf("nearly_one"), KernelFamily::Matmul);
}

TEST_F(LaunchedKernels, AgreeInTheTableOfKernelsAndInThatOfRanks)
{
    trace_.step(0, 0, 100);
    launch("vllm::all_reduce", "kernel_0", 3);
    launch("aten::mm", "nvjet_tst_64x8", 2);
    ASSERT_EQ(familyOf("kernel_0"), KernelFamily::Collective);
    const KernelsTable table = kernels(*reader_, {});
    EXPECT_EQ(table.families, (std::vector{std::pair{KernelFamily::Collective, std::int64_t{30}},
                                           std::pair{KernelFamily::Matmul, std::int64_t{20}}}));
    const RanksTable ofRanks = ranks(*reader_, {});
    ASSERT_EQ(ofRanks.rows.size(), 1U);
    EXPECT_EQ(ofRanks.rows[0].parts.exposedCommunication, 30_ns);
    EXPECT_EQ(ofRanks.rows[0].parts.compute, 20_ns);
}

} // namespace
} // namespace tilescope::query
