#include "core/model/kernel_sample_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope {

namespace {

using ::testing::ElementsAre;

TEST(KernelSampleSums, AddUpByInstructionAndReason)
{
    KernelSampleSums sums;
    const std::uint32_t square = sums.addKernel({.name = "square", .cubin = 1});
    const std::uint32_t cube = sums.addKernel({.name = "cube", .cubin = 2});
    const std::uint32_t wait = sums.reasonOf("wait");
    const std::uint32_t barrier = sums.reasonOf("barrier");
    EXPECT_EQ(sums.reasonOf("wait"), wait);
    EXPECT_TRUE(sums.empty());
    sums.add(cube, 0x20, barrier, 5, 5);
    sums.add(square, 0x10, wait, 1, 0);
    sums.add(square, 0x10, wait, 2, 1);
    sums.add(square, 0x10, barrier, 4, 9);
    sums.addCode({.cubin = 1, .code = "one"});
    sums.addCode({.cubin = 2, .code = "two"});

    const KernelSamples all = sums.take();
    EXPECT_THAT(all.reasons, ElementsAre("wait", "barrier"));
    EXPECT_THAT(all.instructions, ElementsAre(SampledInstruction{.kernel = square, .offset = 0x10},
                                              SampledInstruction{.kernel = cube, .offset = 0x20}));
    EXPECT_THAT(all.stalls,
                ElementsAre(StallSamples{.instruction = 0, .reason = wait, .samples = 3, .unissued = 1},
                            StallSamples{.instruction = 0, .reason = barrier, .samples = 4, .unissued = 4},
                            StallSamples{.instruction = 1, .reason = barrier, .samples = 5, .unissued = 5}));
    EXPECT_EQ(all.code.size(), 2);
    EXPECT_TRUE(sums.empty());
    EXPECT_TRUE(sums.take().empty());
}

TEST(KernelSampleSums, KeepTimesApart)
{
    KernelSampleSums sums;
    const std::uint32_t square = sums.addKernel({.name = "square", .cubin = 1});
    const std::uint32_t wait = sums.reasonOf("wait");
    sums.add(square, 0, wait, 1, 0, timestampAt(10), timestampAt(20));
    sums.add(square, 0, wait, 2, 0, timestampAt(0), timestampAt(10));
    sums.add(square, 0, wait, 4, 0, timestampAt(10), timestampAt(20));
    EXPECT_THAT(
        sums.take().stalls,
        ElementsAre(
            StallSamples{.reason = wait, .samples = 2, .start = timestampAt(0), .end = timestampAt(10)},
            StallSamples{.reason = wait, .samples = 5, .start = timestampAt(10), .end = timestampAt(20)}));
}

TEST(KernelSampleSums, KeepTheKernelsThatAreAskedFor)
{
    KernelSampleSums sums;
    const std::uint32_t square = sums.addKernel({.name = "square", .cubin = 1});
    const std::uint32_t cube = sums.addKernel({.name = "cube", .cubin = 2});
    const std::uint32_t wait = sums.reasonOf("wait");
    sums.add(square, 0, wait, 1, 0);
    sums.add(cube, 0, wait, 2, 0);
    sums.addCode({.cubin = 1, .code = "one"});
    sums.addCode({.cubin = 2, .code = "two"});
    const KernelSamples kept = sums.take([](const SampledKernel& kernel) { return kernel.name == "cube"; });
    ASSERT_EQ(kept.kernels.size(), 1);
    EXPECT_EQ(kept.kernels[0].name, "cube");
    EXPECT_THAT(kept.instructions, ElementsAre(SampledInstruction{.kernel = 0, .offset = 0}));
    ASSERT_EQ(kept.code.size(), 1);
    EXPECT_EQ(kept.code[0].code, "two");
}

} // namespace

} // namespace tilescope
