// The TF32 backward kernel in the emulator.
#include "kernels/cuda/hopper/backward/tf32_kernel.h"

#include "tests/unit/kernels/emulator/backward_harness.h"
#include "tests/unit/kernels/emulator/products.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::kernels {
namespace {

/// Runs the kernel, one CTA after another, as on a device with `multiprocessors`.
template <class Tile>
Gradients<float> run(BackwardCase<float>& given, int multiprocessors, std::uint64_t seed, emulator::Pace pace)
{
    Gradients gradients(given);
    PaddedRows rows(given, Tile::queries);
    BackwardTensors tensors;
    tensors.gradK = gradients.k.view();
    tensors.gradV = gradients.v.view();
    auto arguments = hopper::tf32BackwardArguments<Tile>(given.problem, tensors, rows.workspace);
    hopper::TileScheduler scheduler{};
    arguments.scheduler = &scheduler;
    const hopper::Tf32BackwardMaps maps{.query = given.q.map(Tile::queries, 1, true).encoded(),
                                        .key = given.k.map(Tile::keys, 1, true).encoded(),
                                        .value = given.v.map(Tile::keys, 1, true).encoded(),
                                        .gradO = given.gradO.map(Tile::queries, 1, true).encoded()};
    using Memory = hopper::Tf32BackwardMemory<Tile>;
    const auto ctas = static_cast<unsigned>(std::min(arguments.order.tiles, multiprocessors));
    gridDim.x = ctas;
    for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
        emulator::Machine machine(Tile::threads, sizeof(Memory), seed + blockIdx.x, pace);
        machine.run([&] {
            hopper::runBackwardTf32<Tile>(maps, arguments, *reinterpret_cast<Memory*>(machine.shared()));
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
                                   .type = ElementType::Float32,
                                   .fp32 = Fp32Mode::Tf32,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal,
                                   .deterministic = order == Order::Fixed};
    for (const auto pace : {emulator::Pace::Early, emulator::Pace::Late}) {
        const std::uint64_t seed = 17 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        BackwardCase<float> given(problem, seed);
        emulator::takeUnroundedOperands();
        const auto gradients = run<hopper::Tf32BackwardTile<HeadDim>>(given, multiprocessors, seed, pace);
        EXPECT_EQ(emulator::takeUnroundedOperands(), 0U);
        expectGradients(given, gradients);
    }
}

TEST(BackwardTf32, DifferentiatesAttentionAtHeadDim128)
{
    check<128>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 130, .keys = 600, .headDim = 128},
               false);
}

TEST(BackwardTf32, DifferentiatesAttentionAtHeadDim64)
{
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 330, .keys = 270, .headDim = 64},
              false);
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 70, .keys = 530, .headDim = 64}, true);
}

TEST(BackwardTf32, HidesWhatTheCausalMaskHides)
{
    check<128>({.batch = 2, .queryHeads = 1, .keyHeads = 1, .queries = 200, .keys = 190, .headDim = 128},
               true);
    check<128>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 70, .keys = 530, .headDim = 128},
               true);
}

TEST(BackwardTf32, AddsUpTheHeadsOfAGroup)
{
    check<64>({.batch = 1, .queryHeads = 6, .keyHeads = 2, .queries = 70, .keys = 150, .headDim = 64}, true);
}

TEST(BackwardTf32, AddsInAFixedOrder)
{
    check<64>({.batch = 1, .queryHeads = 2, .keyHeads = 2, .queries = 260, .keys = 390, .headDim = 64}, true,
              Order::Fixed, 2);
    check<128>({.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 130, .keys = 140, .headDim = 128},
               false, Order::Fixed);
}

TEST(BackwardTf32, PadsHeadDims)
{
    check<96>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 96},
              false);
    check<96>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 76}, true);
    check<32>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 200, .keys = 170, .headDim = 32}, true);
    check<32>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 140, .keys = 170, .headDim = 20},
              false);
    check<128>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 70, .keys = 70, .headDim = 100},
               false);
}

TEST(BackwardTf32, GivesZerosWhereARowSeesNoKey)
{
    check<64>({.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 300, .keys = 20, .headDim = 64}, true);
}

} // namespace
} // namespace tilescope::kernels
