// The bf16 forward kernel in the emulator. It is tested on GPUs, so that these tests also check the emulator.
#include "kernels/cuda/hopper/forward/kernel.h"

#include "tests/unit/kernels/emulator/forward_harness.h"

#include <gtest/gtest.h>

namespace tilescope::kernels {
namespace {

/// \param growth  factor of the last key; that of the first is 0.1
template <class Tile> void check(AttentionShape shape, bool causal, float growth = 0)
{
    const AttentionProblem problem{.shape = shape,
                                   .type = ElementType::BFloat16,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal};
    for (const auto pace : {emulator::Pace::Early, emulator::Pace::Late}) {
        const std::uint64_t seed = 29 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        Inputs<__nv_bfloat16> inputs(shape, seed);
        for (std::int64_t key = 0; growth > 0 && key < shape.keys; ++key) {
            const float factor = 0.1F + (growth - 0.1F) * float(key) / float(shape.keys - 1);
            for (int i = 0; i < shape.headDim; ++i) {
                __nv_bfloat16& element = inputs.k.at(0, 0, key, i);
                element = __nv_bfloat16(factor * float(element));
            }
        }
        const Outputs<__nv_bfloat16> outputs =
            run<Tile, hopper::ForwardMemory<Tile>>(problem, inputs, 1, seed, pace, [](auto&&... parts) {
                hopper::runForward<Tile, __nv_bfloat16>(parts...);
            });
        expectAttention(problem, inputs, outputs);
    }
}

TEST(ForwardBf16, ComputesAttention)
{
    check<hopper::ForwardTile<128, 2, 128>>(
        {.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 150, .keys = 300, .headDim = 128}, false);
}

TEST(ForwardBf16, HidesWhatTheCausalMaskHides)
{
    check<hopper::ForwardTile<64, 3, 128>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 500, .keys = 390, .headDim = 64}, true);
}

TEST(ForwardBf16, FindsTheLargestScoreWhereItsGuessDoesNotFit)
{
    check<hopper::ForwardTile<64, 2, 128>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 100, .keys = 400, .headDim = 64}, false, 60);
}

TEST(ForwardBf16, WritesZerosWhereTilesSeeNoKey)
{
    check<hopper::ForwardTile<32, 3, 128>>(
        {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 1000, .keys = 20, .headDim = 32}, true);
}

} // namespace
} // namespace tilescope::kernels
