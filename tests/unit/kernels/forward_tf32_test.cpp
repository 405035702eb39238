// The TF32 forward kernel in the emulator.
#include "kernels/cuda/hopper/forward/tf32_kernel.h"

#include "tests/unit/kernels/emulator/forward_harness.h"
#include "tests/unit/kernels/emulator/products.h"

#include <gtest/gtest.h>

namespace tilescope::kernels {
namespace {

template <class Tile> void check(AttentionShape shape, bool causal, int multiprocessors = 1)
{
    const AttentionProblem problem{.shape = shape,
                                   .type = ElementType::Float32,
                                   .fp32 = Fp32Mode::Tf32,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal};
    for (const auto pace : {emulator::Pace::Early, emulator::Pace::Late}) {
        const std::uint64_t seed = 17 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        Inputs<float> inputs(shape, seed);
        emulator::takeUnroundedOperands();
        const Outputs<float> outputs =
            run<Tile, hopper::Tf32Memory<Tile>>(problem, inputs, multiprocessors, seed, pace,
                                                [](auto&&... parts) { hopper::runTf32<Tile>(parts...); });
        EXPECT_EQ(emulator::takeUnroundedOperands(), 0U);
        expectAttention(problem, inputs, outputs);
    }
}

TEST(ForwardTf32, ComputesAttentionAtHeadDim128)
{
    check<hopper::Tf32Tile<128, 64>>(
        {.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 150, .keys = 203, .headDim = 128}, false);
}

TEST(ForwardTf32, HidesWhatTheCausalMaskHides)
{
    check<hopper::Tf32Tile<128, 64>>(
        {.batch = 2, .queryHeads = 1, .keyHeads = 1, .queries = 300, .keys = 290, .headDim = 128}, true);
}

TEST(ForwardTf32, ComputesAttentionAtHeadDim64)
{
    check<hopper::Tf32Tile<64, 128>>(
        {.batch = 1, .queryHeads = 2, .keyHeads = 2, .queries = 260, .keys = 390, .headDim = 64}, true, 2);
}

TEST(ForwardTf32, SharesTilesBetweenHeadsOfAGroup)
{
    check<hopper::Tf32Tile<64, 128>>(
        {.batch = 1, .queryHeads = 12, .keyHeads = 2, .queries = 70, .keys = 300, .headDim = 64}, false);
}

TEST(ForwardTf32, PadsHeadDims)
{
    check<hopper::Tf32Tile<96, 64>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 80}, true);
    check<hopper::Tf32Tile<32, 128>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 20}, false);
}

TEST(ForwardTf32, WritesZerosWhereARowSeesNoKey)
{
    check<hopper::Tf32Tile<64, 128>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 300, .keys = 20, .headDim = 64}, true);
}

} // namespace
} // namespace tilescope::kernels
