// The decode kernels in the emulator.
#include "kernels/cuda/decode/kernel.cuh"
#include "kernels/cuda/hopper/decode/boxes.h"

#include "tests/unit/kernels/emulator/forward_harness.h"

#include <gtest/gtest.h>

namespace tilescope::kernels {
namespace {

/// Where a kernel finds keys and values, beside its parameters.
template <class Kernel> typename Kernel::Loads::Source sourceOf(Inputs<__nv_bfloat16>& inputs)
{
    if constexpr (std::is_same_v<typename Kernel::Loads::Source, hopper::DecodeMaps>) {
        return {inputs.k.map(Kernel::kTileKeys, 1, false).encoded(),
                inputs.v.map(Kernel::kTileKeys, 1, false).encoded()};
    } else {
        return {};
    }
}

/// Divides the keys among up to `mostCtas` CTAs.
template <class Kernel>
void checkKernel(const AttentionShape& shape, bool causal, int mostCtas, DecodeCtas ctas)
{
    const AttentionProblem problem{.shape = shape,
                                   .type = ElementType::BFloat16,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal};
    for (const auto pace : {emulator::Pace::Early, emulator::Pace::Late}) {
        const std::uint64_t seed = 31 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        Inputs<__nv_bfloat16> inputs(shape, seed);
        Outputs<__nv_bfloat16> outputs{
            {shape.batch, shape.queryHeads, shape.queries, shape.headDim},
            std::vector<float>(static_cast<std::size_t>(shape.batch * shape.queryHeads * shape.queries),
                               std::numeric_limits<float>::quiet_NaN())};
        const KernelShape kernel = kernelShape(problem);
        const int rows = kernel.queries * kernel.group();
        const auto tiles = static_cast<int>((shape.keys + Kernel::kTileKeys - 1) / Kernel::kTileKeys);
        const KeySplit split = KeySplit::make(shape.batch * shape.keyHeads, tiles, mostCtas, 1);
        std::vector<float> workspace(static_cast<std::size_t>(split.ctas * KeySplit::kPartsPerCta * rows *
                                                              decodePartFloats(Kernel::Tile::kColumns)),
                                     std::numeric_limits<float>::quiet_NaN());
        std::vector<unsigned> finishedParts(static_cast<std::size_t>(split.ctas));
        const auto constant = [](const View<void*>& view) {
            return ConstView{view.data, view.batchStride, view.headStride, view.rowStride};
        };
        const DecodeParameters parameters{.shape = kernel,
                                          .q = constant(inputs.q.view()),
                                          .k = constant(inputs.k.view()),
                                          .v = constant(inputs.v.view()),
                                          .o = outputs.o.view(),
                                          .logSumExp = outputs.logSumExp.data(),
                                          .workspace = workspace.data(),
                                          .finishedParts = finishedParts.data(),
                                          .split = split,
                                          .ctas = ctas};
        const typename Kernel::Loads::Source source = sourceOf<Kernel>(inputs);
        for (blockIdx.x = 0; blockIdx.x < static_cast<unsigned>(split.ctas); ++blockIdx.x) {
            emulator::Machine machine(Kernel::kThreads + Kernel::Loads::kProducerThreads,
                                      Kernel::kSharedBytes, seed + blockIdx.x, pace);
            machine.run([&] {
                Kernel{parameters, source, reinterpret_cast<std::byte*>(machine.shared())}.run();
            });
        }
        expectAttention(problem, inputs, outputs);
        EXPECT_EQ(finishedParts, std::vector<unsigned>(finishedParts.size()))
            << "counters that are not returned";
    }
}

/// With asynchronous copies and with TMA.
template <int kHeadDim, int kRowGroups, DecodeCtas kCtas = DecodeCtas::Two>
void check(const AttentionShape& shape, bool causal, int mostCtas)
{
    {
        SCOPED_TRACE("copies");
        checkKernel<DecodeKernel<Bf16, kHeadDim, kRowGroups, 3, kCtas>>(shape, causal, mostCtas, kCtas);
    }
    SCOPED_TRACE("boxes");
    checkKernel<DecodeKernel<Bf16, kHeadDim, kRowGroups, 3, kCtas, hopper::DecodeBoxes>>(shape, causal,
                                                                                         mostCtas, kCtas);
}

TEST(Decode, CombinesThePartsOfEachKeyHead)
{
    check<128, 1>({.batch = 1, .queryHeads = 8, .keyHeads = 2, .queries = 1, .keys = 450, .headDim = 128},
                  false, 6);
}

TEST(Decode, TakesSeveralItemsAndPartsOfOthersInOneCta)
{
    check<64, 1>({.batch = 3, .queryHeads = 2, .keyHeads = 1, .queries = 2, .keys = 600, .headDim = 64},
                 false, 4);
}

TEST(Decode, TakesWholeItems)
{
    check<64, 1>({.batch = 2, .queryHeads = 2, .keyHeads = 2, .queries = 1, .keys = 130, .headDim = 64},
                 false, 2);
}

TEST(Decode, HidesWhatTheCausalMaskHides)
{
    check<128, 2>({.batch = 1, .queryHeads = 3, .keyHeads = 1, .queries = 10, .keys = 200, .headDim = 128},
                  true, 3);
    check<64, 1>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 16, .keys = 9, .headDim = 64}, true,
                 3);
}

TEST(Decode, DividesManyRowsAmongWarps)
{
    check<128, 4>({.batch = 1, .queryHeads = 4, .keyHeads = 1, .queries = 15, .keys = 333, .headDim = 128},
                  true, 3);
}

TEST(Decode, DividesTilesOfTwiceTheSizeAmongTwiceTheWarps)
{
    check<128, 1, DecodeCtas::OneWide>(
        {.batch = 2, .queryHeads = 4, .keyHeads = 1, .queries = 3, .keys = 1000, .headDim = 128}, true, 3);
    check<64, 1, DecodeCtas::OneWide>(
        {.batch = 1, .queryHeads = 2, .keyHeads = 2, .queries = 1, .keys = 1300, .headDim = 64}, false, 3);
}

TEST(Decode, PadsHeadDims)
{
    check<128, 1>({.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 3, .keys = 300, .headDim = 80},
                  false, 3);
}

} // namespace
} // namespace tilescope::kernels
