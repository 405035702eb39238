// The bf16 backward kernel in the emulator. It is tested on GPUs, so that these tests also check the emulator.
#include "kernels/cuda/hopper/backward/kernel.h"

#include "tests/unit/kernels/emulator/backward_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::kernels {
namespace {

using Element = __nv_bfloat16;

/// Runs the kernel, one CTA after another, as on a device with `multiprocessors`.
template <class Tile>
Gradients<Element> run(BackwardCase<Element>& given, int multiprocessors, std::uint64_t seed,
                       emulator::Pace pace)
{
    Gradients gradients(given);
    PaddedRows rows(given, Tile::queries);
    constexpr std::int64_t kCacheBytes = 32 << 20;
    auto arguments = hopper::backwardArguments<Tile>(given.problem, rows.workspace, kCacheBytes);
    hopper::TileScheduler scheduler{};
    arguments.scheduler = &scheduler;
    const hopper::BackwardMaps maps{.query = given.q.map(Tile::queries, 1, false).encoded(),
                                    .key = given.k.map(Tile::keys, 1, false).encoded(),
                                    .value = given.v.map(Tile::keys, 1, false).encoded(),
                                    .gradO = given.gradO.map(Tile::queries, 1, false).encoded(),
                                    .gradKey = gradients.k.map(hopper::kRowsPerConsumer, 1, false).encoded(),
                                    .gradValue =
                                        gradients.v.map(hopper::kRowsPerConsumer, 1, false).encoded()};
    using Memory = hopper::BackwardShared<Tile>;
    const auto ctas = static_cast<unsigned>(std::min(arguments.order.tiles, multiprocessors));
    gridDim.x = ctas;
    for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
        emulator::Machine machine(hopper::kThreads, sizeof(Memory), seed + blockIdx.x, pace);
        machine.run([&] {
            hopper::runBackward<Tile, Element>(maps, arguments, *reinterpret_cast<Memory*>(machine.shared()));
        });
    }
    EXPECT_EQ(scheduler.claimed, 0U) << "scheduler that are not returned";
    rows.finish(given, gradients.q);
    return gradients;
}

enum class Order : unsigned char { Any, Fixed };

template <int HeadDim>
void check(AttentionShape shape, bool causal, Order order = Order::Any, int multiprocessors = 1)
{
    const AttentionProblem problem{.shape = shape,
                                   .type = ElementType::BFloat16,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal,
                                   .deterministic = order == Order::Fixed};
    for (const auto pace : {emulator::Pace::Early, emulator::Pace::Late}) {
        const std::uint64_t seed = 23 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        BackwardCase<Element> given(problem, seed);
        const auto gradients = run<hopper::BackwardTile<HeadDim>>(given, multiprocessors, seed, pace);
        expectGradients(given, gradients);
    }
}

/// Three tiles of keys for one CTA, which must not load the next v before all threads have seen that this one is there.
TEST(BackwardBf16, DifferentiatesAttentionAtHeadDim128)
{
    check<128>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 150, .keys = 300, .headDim = 128},
               false);
}

TEST(BackwardBf16, DifferentiatesAttentionAtHeadDim64)
{
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 300, .keys = 140, .headDim = 64},
              false);
}

TEST(BackwardBf16, HidesWhatTheCausalMaskHides)
{
    check<128>({.batch = 2, .queryHeads = 1, .keyHeads = 1, .queries = 200, .keys = 190, .headDim = 128},
               true);
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 200, .keys = 270, .headDim = 64}, true);
}

TEST(BackwardBf16, AddsUpTheHeadsOfAGroup)
{
    check<64>({.batch = 1, .queryHeads = 6, .keyHeads = 2, .queries = 140, .keys = 150, .headDim = 64}, true);
}

TEST(BackwardBf16, AddsInAFixedOrder)
{
    check<64>({.batch = 1, .queryHeads = 2, .keyHeads = 2, .queries = 260, .keys = 390, .headDim = 64}, true,
              Order::Fixed, 2);
    check<128>({.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 130, .keys = 140, .headDim = 128},
               false, Order::Fixed);
}

TEST(BackwardBf16, PadsHeadDims)
{
    check<96>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 80},
              false);
    check<32>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 200, .keys = 170, .headDim = 24}, true);
}

TEST(BackwardBf16, DividesWideHeadsByGradient)
{
    check<256>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 70, .keys = 150, .headDim = 256},
               true);
}

TEST(BackwardBf16, GivesZerosWhereARowSeesNoKey)
{
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 300, .keys = 20, .headDim = 64}, true);
}

} // namespace
} // namespace tilescope::kernels
