// The TF32 forward kernel, as Hopper's threads would run it, in the emulator.
#include "kernels/cuda/hopper/forward_tf32_kernel.h"

#include "kernels/cuda/hopper/forward_arguments.h"
#include "tests/unit/kernels/emulator/copies.h"
#include "tests/unit/kernels/emulator/machine.h"
#include "tests/unit/kernels/emulator/products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace tilescope::kernels {
namespace {

using emulator::Machine;
using emulator::Pace;
using emulator::TensorMap;

float roundedToTf32(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + 0xfffU + (bits >> 13 & 1)) & ~0x1fffU);
}

/// (batch, rows, heads, columns), as a projection gives it: rows before heads.
struct Tensor {
    std::int64_t batch, heads, rows;
    int columns;
    std::vector<float> values;

    Tensor(std::int64_t theBatch, std::int64_t theHeads, std::int64_t theRows, int theColumns)
        : batch(theBatch), heads(theHeads), rows(theRows), columns(theColumns),
          values(static_cast<std::size_t>(theBatch * theHeads * theRows * theColumns),
                 std::numeric_limits<float>::quiet_NaN())
    {
    }
    std::int64_t headStride() const { return columns; }
    std::int64_t rowStride() const { return heads * columns; }
    std::int64_t batchStride() const { return rows * rowStride(); }
    float& at(std::int64_t b, std::int64_t head, std::int64_t row, std::int64_t column)
    {
        return values[static_cast<std::size_t>(b * batchStride() + row * rowStride() + head * headStride() +
                                               column)];
    }
    TensorMap map(int boxRows, int boxHeads, bool roundToTf32)
    {
        return {.data = reinterpret_cast<unsigned char*>(values.data()),
                .sizes = {columns, rows, heads, batch},
                .strides = {4 * rowStride(), 4 * headStride(), 4 * batchStride()},
                .elementBytes = 4,
                .boxRows = boxRows,
                .boxHeads = boxHeads,
                .roundToTf32 = roundToTf32};
    }
};

struct Inputs {
    Tensor q, k, v;

    Inputs(const AttentionShape& shape, std::uint64_t seed)
        : q(shape.batch, shape.queryHeads, shape.queries, shape.headDim),
          k(shape.batch, shape.keyHeads, shape.keys, shape.headDim),
          v(shape.batch, shape.keyHeads, shape.keys, shape.headDim)
    {
        std::mt19937_64 random(seed);
        std::normal_distribution<float> normal;
        for (Tensor* tensor : {&q, &k, &v}) {
            for (float& value : tensor->values) {
                value = normal(random);
            }
        }
    }
};

struct Outputs {
    Tensor o;
    std::vector<float> logSumExp;
};

/// Runs the kernel, one CTA after another, as on a device of that many multiprocessors.
template <class Tile>
Outputs run(const AttentionProblem& problem, Inputs& inputs, int multiprocessors, std::uint64_t seed,
            Pace pace)
{
    using Memory = hopper::Tf32Memory<Tile>;
    const AttentionShape& shape = problem.shape;
    Outputs outputs{
        {shape.batch, shape.queryHeads, shape.queries, shape.headDim},
        std::vector<float>(static_cast<std::size_t>(shape.batch * shape.queryHeads * shape.queries),
                           std::numeric_limits<float>::quiet_NaN())};
    ForwardTensors tensors;
    tensors.logSumExp = outputs.logSumExp.data();
    hopper::ForwardArguments arguments = hopper::forwardArguments<Tile>(problem, tensors);
    hopper::TileTickets tickets{};
    arguments.tickets = &tickets;
    const CUtensorMap query = inputs.q.map(arguments.rowsPerHead, arguments.packedHeads, true).encoded();
    const CUtensorMap key = inputs.k.map(Tile::keys, 1, true).encoded();
    const CUtensorMap value = inputs.v.map(Tile::keys, 1, true).encoded();
    const CUtensorMap output = outputs.o.map(arguments.rowsPerStore, 1, false).encoded();
    const auto ctas = static_cast<unsigned>(hopper::forwardCtas(arguments, multiprocessors));
    gridDim.x = ctas;
    for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
        Machine machine(Tile::threads, sizeof(Memory), seed + blockIdx.x, pace);
        machine.run([&] {
            hopper::runTf32<Tile>(query, key, value, output, arguments,
                                  *reinterpret_cast<Memory*>(machine.shared()));
        });
    }
    EXPECT_EQ(tickets.drawn, 0U) << "tickets that are not returned";
    return outputs;
}

/// Attention in fp64 from inputs rounded to TF32, held against the kernel's results. What is left is P's own
/// rounding, at most 2^-11 of each probability, and fp32 sums.
void expectAttention(const AttentionProblem& problem, Inputs& inputs, Outputs& outputs)
{
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
                        score += double{roundedToTf32(inputs.q.at(batch, head, query, i))} *
                                 roundedToTf32(inputs.k.at(batch, keyHead, key, i));
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
                        const double value = roundedToTf32(inputs.v.at(batch, keyHead, key, i));
                        expected += weight * value;
                        size += weight * std::abs(value);
                    }
                    ASSERT_NEAR(outputs.o.at(batch, head, query, i), expected, size * 0x1p-11 + 1e-5)
                        << where << ", column " << i;
                }
            }
        }
    }
}

template <class Tile> void check(AttentionShape shape, bool causal, int multiprocessors = 1)
{
    const AttentionProblem problem{.shape = shape,
                                   .type = ElementType::Float32,
                                   .fp32 = Fp32Mode::Tf32,
                                   .scale = 1 / std::sqrt(double(shape.headDim)),
                                   .causal = causal};
    for (const Pace pace : {Pace::Early, Pace::Late}) {
        const std::uint64_t seed = 17 + static_cast<std::uint64_t>(pace);
        SCOPED_TRACE("seed " + std::to_string(seed));
        Inputs inputs(shape, seed);
        emulator::takeUnroundedOperands();
        Outputs outputs = run<Tile>(problem, inputs, multiprocessors, seed, pace);
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
