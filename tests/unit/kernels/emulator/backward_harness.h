#pragma once

#include "kernels/cuda/hopper/backward/tile.h"
#include "tests/unit/kernels/emulator/machine.h"
#include "tests/unit/kernels/emulator/tensors.h"
#include "tests/unit/kernels/error_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

/// Inputs of the backward kernels in the emulator, the passes around them, and the check of their results.
namespace tilescope::kernels {

/// Inputs of backward. The log-sum-exp and delta are exact values, rounded to fp32.
template <class Element> struct BackwardCase {
    AttentionProblem problem;
    Tensor<Element> q, k, v, gradO;
    std::vector<double> logSumExp, delta; ///< (batch, head, query)

    BackwardCase(const AttentionProblem& what, std::uint64_t seed)
        : problem(what), q(what.shape.batch, what.shape.queryHeads, what.shape.queries, what.shape.headDim),
          k(what.shape.batch, what.shape.keyHeads, what.shape.keys, what.shape.headDim), v(k), gradO(q)
    {
        std::mt19937_64 random(seed);
        for (Tensor<Element>* tensor : {&q, &k, &v, &gradO}) {
            tensor->fillNormal(random);
        }
        const BoundedAttention exact = bound();
        logSumExp = exact.logSumExp.exact;
        const std::vector<double> grad = gradO.asMultiplied();
        const auto columns = static_cast<std::size_t>(problem.shape.headDim);
        for (std::size_t i = 0; i < grad.size(); i += columns) {
            delta.push_back(0);
            for (std::size_t c = i; c < i + columns; ++c) {
                delta.back() += grad[c] * exact.o.exact[c];
            }
        }
    }

    /// Gradients in fp64 of the inputs as the products use them.
    BoundedAttention bound() const
    {
        return {{.shape = problem.shape,
                 .causal = problem.causal,
                 .scale = problem.scale,
                 .q = q.asMultiplied(),
                 .k = k.asMultiplied(),
                 .v = v.asMultiplied(),
                 .gradO = gradO.asMultiplied()},
                arithmeticOf(problem.type, problem.fp32),
                RowSource::Exact};
    }
};

template <class Element> struct Gradients {
    Tensor<Element> q, k, v;

    /// Not written yet: NaN.
    explicit Gradients(const BackwardCase<Element>& given) : q(given.q), k(given.k), v(given.v)
    {
        for (Tensor<Element>* tensor : {&q, &k, &v}) {
            std::ranges::fill(tensor->values, Element(std::numeric_limits<float>::quiet_NaN()));
        }
    }
};

/// The passes before and after the kernel, on the host. Rows are padded to whole query tiles.
struct PaddedRows {
    std::vector<float> gradQuery, logSumExp2, delta;
    std::vector<unsigned> semaphores;
    hopper::BackwardWorkspace workspace{};

    template <class Element> PaddedRows(const BackwardCase<Element>& given, int tileRows)
    {
        const AttentionShape& shape = given.problem.shape;
        const auto rows = static_cast<std::size_t>(shape.queries);
        const auto pairs = static_cast<std::size_t>(shape.batch * shape.queryHeads);
        const std::size_t tiles =
            (rows + static_cast<std::size_t>(tileRows) - 1) / static_cast<std::size_t>(tileRows);
        const std::size_t padded = tiles * static_cast<std::size_t>(tileRows);
        const int columns = (shape.headDim + 7) / 8 * 8;
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        gradQuery.resize(pairs * padded * static_cast<std::size_t>(columns));
        logSumExp2.resize(pairs * padded, kInfinity);
        delta.resize(pairs * padded);
        semaphores.resize(pairs * tiles);
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            for (std::size_t row = 0; row < rows; ++row) {
                const double logSumExp = given.logSumExp[pair * rows + row];
                const auto lse2 = static_cast<float>(logSumExp * 1.4426950408889634);
                logSumExp2[pair * padded + row] = lse2 == -kInfinity ? kInfinity : lse2;
                delta[pair * padded + row] = static_cast<float>(given.delta[pair * rows + row]);
            }
        }
        workspace = {gradQuery.data(),
                     logSumExp2.data(),
                     delta.data(),
                     given.problem.deterministic ? semaphores.data() : nullptr,
                     static_cast<int>(padded),
                     columns};
    }

    /// Converts the sums, in the order of accumulator registers, to gradQ.
    template <class Element> void finish(const BackwardCase<Element>& given, Tensor<Element>& gradQ) const
    {
        const AttentionShape& shape = given.problem.shape;
        const int tiles = workspace.paddedRows / 64;
        const float* sums = gradQuery.data();
        for (std::int64_t pair = 0; pair < shape.batch * shape.queryHeads; ++pair) {
            for (int tile = 0; tile < tiles; ++tile) {
                for (int i = 0; i < workspace.columns / 2; ++i) {
                    for (int thread = 0; thread < 128; ++thread) {
                        const auto [row, column] = hopper::accumulatorAt(thread, i);
                        const std::int64_t query = tile * 64 + row;
                        if (query < shape.queries && column < shape.headDim) {
                            gradQ.at(pair / shape.queryHeads, pair % shape.queryHeads, query, column) =
                                Element(static_cast<float>(given.problem.scale) *
                                        sums[i / 4 * 512 + thread * 4 + i % 4]);
                        }
                    }
                }
                sums += 64 * workspace.columns;
            }
        }
    }
};

template <class Element>
void expectGradients(const BackwardCase<Element>& given, const Gradients<Element>& gradients)
{
    const BoundedAttention bound = given.bound();
    expectWithin("gradV", bound.gradV, gradients.v.asStored());
    expectWithin("gradK", bound.gradK, gradients.k.asStored());
    expectWithin("gradQ", bound.gradQ, gradients.q.asStored());
}

} // namespace tilescope::kernels
