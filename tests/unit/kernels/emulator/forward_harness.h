#pragma once

#include "kernels/cuda/hopper/forward_arguments.h"
#include "tests/unit/kernels/emulator/machine.h"
#include "tests/unit/kernels/emulator/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>

/// Problems for a Hopper forward kernel, its run in the emulator, and what must come out.
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

/// Runs a kernel, one CTA after another, as on a device of that many multiprocessors.
/// \param kernel  (maps of q, k, v, o, arguments, Memory&): one thread
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
    hopper::TileTickets tickets{};
    arguments.tickets = &tickets;
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
    EXPECT_EQ(tickets.drawn, 0U) << "tickets that are not returned";
    return outputs;
}

/// Attention in fp64 from inputs as they are multiplied, held against a kernel's results. What is left is the
/// rounding of P and of o, and fp32 sums.
/// \param rounding  of an element: half of its last place
template <class Element>
void expectAttention(const AttentionProblem& problem, Inputs<Element>& inputs, Outputs<Element>& outputs,
                     double rounding)
{
    constexpr bool kRoundsOutput = sizeof(Element) == 2;
    const AttentionShape& shape = problem.shape;
    const MaskPolicy<std::int64_t> mask{shape.queries, shape.keys, problem.causal};
    std::vector<double> scores(static_cast<std::size_t>(shape.keys));
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
        for (std::int64_t head = 0; head < shape.queryHeads; ++head) {
            const std::int64_t keyHead = head / (shape.queryHeads / shape.keyHeads);
            for (std::int64_t query = 0; query < shape.queries; ++query) {
                double largest = -std::numeric_limits<double>::infinity();
                const std::int64_t seen = mask.keysSeenBy(query);
                for (std::int64_t key = 0; key < seen; ++key) {
                    double score = 0;
                    for (int i = 0; i < shape.headDim; ++i) {
                        score += double{multiplied(inputs.q.at(batch, head, query, i))} *
                                 multiplied(inputs.k.at(batch, keyHead, key, i));
                    }
                    scores[static_cast<std::size_t>(key)] = score * problem.scale;
                    largest = std::max(largest, score * problem.scale);
                }
                double sum = 0;
                for (std::int64_t key = 0; key < seen; ++key) {
                    sum += std::exp(scores[static_cast<std::size_t>(key)] - largest);
                }
                const auto row = (batch * shape.queryHeads + head) * shape.queries + query;
                const float logSumExp = outputs.logSumExp[static_cast<std::size_t>(row)];
                const std::string where = "head " + std::to_string(head) + ", query " + std::to_string(query);
                if (seen == 0) {
                    ASSERT_EQ(logSumExp, -std::numeric_limits<float>::infinity()) << where;
                } else {
                    ASSERT_NEAR(logSumExp, largest + std::log(sum), 1e-4) << where;
                }
                for (int i = 0; i < shape.headDim; ++i) {
                    double expected = 0;
                    double size = 0;
                    for (std::int64_t key = 0; key < seen; ++key) {
                        const double weight = std::exp(scores[static_cast<std::size_t>(key)] - largest) / sum;
                        const double value = multiplied(inputs.v.at(batch, keyHead, key, i));
                        expected += weight * value;
                        size += weight * std::abs(value);
                    }
                    const double allowed =
                        rounding * (size + (kRoundsOutput ? 1.01 * std::abs(expected) : 0)) + 1e-5;
                    ASSERT_NEAR(static_cast<float>(outputs.o.at(batch, head, query, i)), expected, allowed)
                        << where << ", column " << i;
                }
            }
        }
    }
}

} // namespace tilescope::kernels
