#pragma once

#include "kernels/cuda/hopper/forward/arguments.h"
#include "tests/unit/kernels/emulator/machine.h"
#include "tests/unit/kernels/emulator/tensors.h"
#include "tests/unit/kernels/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

/// Runs a Hopper forward kernel in the emulator and checks its results.
namespace tilescope::kernels {

template <class Element> struct Inputs {
    Tensor<Element> q, k, v;

    Inputs(const AttentionShape& shape, std::uint64_t seed)
        : q(shape.batch, shape.queryHeads, shape.queries, shape.headDim),
          k(shape.batch, shape.keyHeads, shape.keys, shape.headDim),
          v(shape.batch, shape.keyHeads, shape.keys, shape.headDim)
    {
        std::mt19937_64 random(seed);
        for (Tensor<Element>* tensor : {&q, &k, &v}) {
            tensor->fillNormal(random);
        }
    }
};

template <class Element> struct Outputs {
    Tensor<Element> o;
    std::vector<float> logSumExp;
};

/// Runs a kernel, one CTA after another, as on a device with `multiprocessors`.
/// \param kernel  called as kernel(maps of q, k, v and o, arguments, Memory&) by each thread
template <class Tile, class Memory, class Element, class Kernel>
Outputs<Element> run(const AttentionProblem& problem, Inputs<Element>& inputs, int multiprocessors,
                     std::uint64_t seed, emulator::Pace pace, const Kernel& kernel)
{
    constexpr bool kTf32 = std::is_same_v<Element, float>;
    const AttentionShape& shape = problem.shape;
    Outputs<Element> outputs{
        {shape.batch, shape.queryHeads, shape.queries, shape.headDim},
        std::vector<float>(static_cast<std::size_t>(shape.batch * shape.queryHeads * shape.queries),
                           std::numeric_limits<float>::quiet_NaN())};
    ForwardTensors tensors;
    tensors.k = {inputs.k.values.data(), inputs.k.batchStride(), inputs.k.headStride(), inputs.k.rowStride()};
    tensors.logSumExp = outputs.logSumExp.data();
    hopper::ForwardArguments arguments = hopper::forwardArguments<Tile>(problem, tensors);
    hopper::TileScheduler scheduler{};
    arguments.scheduler = &scheduler;
    const CUtensorMap query = inputs.q.map(arguments.rowsPerHead, arguments.packedHeads, kTf32).encoded();
    const CUtensorMap key = inputs.k.map(Tile::keys, 1, kTf32).encoded();
    const CUtensorMap value = inputs.v.map(Tile::keys, 1, kTf32).encoded();
    const CUtensorMap output = outputs.o.map(arguments.rowsPerStore, 1, false).encoded();
    const auto ctas = static_cast<unsigned>(hopper::forwardCtas(arguments, multiprocessors));
    gridDim.x = ctas;
    for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
        emulator::Machine machine(Tile::threads, sizeof(Memory), seed + blockIdx.x, pace);
        machine.run([&] {
            kernel(query, key, value, output, arguments, *reinterpret_cast<Memory*>(machine.shared()));
        });
    }
    EXPECT_EQ(scheduler.claimed, 0U) << "scheduler that are not returned";
    return outputs;
}

/// Compares a kernel's results with attention in fp64 of the inputs as the products use them.
template <class Element>
void expectAttention(const AttentionProblem& problem, const Inputs<Element>& inputs,
                     const Outputs<Element>& outputs)
{
    const BoundedAttention bound({.shape = problem.shape,
                                  .causal = problem.causal,
                                  .scale = problem.scale,
                                  .q = inputs.q.asMultiplied(),
                                  .k = inputs.k.asMultiplied(),
                                  .v = inputs.v.asMultiplied()},
                                 arithmeticOf(problem.type, problem.fp32));
    expectWithin("o", bound.o, outputs.o.asStored());
    expectWithin("log-sum-exp", bound.logSumExp, outputs.logSumExp);
}

} // namespace tilescope::kernels
