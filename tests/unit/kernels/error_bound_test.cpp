#include "tests/unit/kernels/error_bound.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tilescope::kernels {
namespace {

std::vector<double> wave(std::int64_t numbers, double start)
{
    std::vector<double> result(static_cast<std::size_t>(numbers));
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = std::sin(static_cast<double>(i) * 0.7 + start);
    }
    return result;
}

DenseInputs waves()
{
    std::vector<double> gradLogSumExp(10);
    for (std::size_t i = 0; i < gradLogSumExp.size(); ++i) {
        gradLogSumExp[i] = std::sin(static_cast<double>(i));
    }
    return {
        .shape = {.batch = 1, .queryHeads = 2, .keyHeads = 1, .queries = 5, .keys = 7, .headDim = 4},
        .causal = true,
        .scale = 0.5,
        .q = wave(2 * 5 * 4, 0),
        .k = wave(7 * 4, 1),
        .v = wave(7 * 4, 2),
        .gradO = wave(2 * 5 * 4, 3),
        .gradLogSumExp = gradLogSumExp,
    };
}

TEST(ErrorBound, IsTheOneThatTheChecksInPythonDerive)
{
    // attention_op_test.py expects the same sums of tests/gpu/attention/error_bound.py.
    const BoundedAttention bound(waves(), arithmeticOf(ElementType::Float16));
    const auto sum = [](const Bounded& part) {
        return std::accumulate(part.allowed.begin(), part.allowed.end(), 0.0);
    };
    // Python keeps its inputs in fp32 where C++ has fp64.
    const double unitRoundoff = std::exp2(-24);
    const auto agrees = [&](const Bounded& part, double expected) {
        EXPECT_NEAR(sum(part), expected, unitRoundoff * expected);
    };
    agrees(bound.o, 0.0201966069864);
    agrees(bound.logSumExp, 0.000125229284913);
    agrees(bound.gradQ, 0.0354002289549);
    agrees(bound.gradK, 0.0331339039588);
    agrees(bound.gradV, 0.020114739751);
}

TEST(ErrorBound, CoversScoreGradientsMadeFromSubnormalProbabilities)
{
    const DenseInputs inputs{
        .shape = {.batch = 1, .queryHeads = 1, .keyHeads = 1, .queries = 1, .keys = 2, .headDim = 1},
        .q = {1},
        .k = {0, -17},
        .v = {0, 1000},
        .gradO = {1},
    };
    const BoundedAttention bound(inputs, arithmeticOf(ElementType::Float16));
    const double gradProbability = inputs.v[1] * inputs.gradO[0] - bound.o.exact[0];
    const double roundedProbability = std::exp2(-24); // exp(-17) in fp16
    const double error = std::abs(roundedProbability * gradProbability * inputs.q[0] - bound.gradK.exact[1]);
    EXPECT_GT(error, 0.4 * std::abs(bound.gradK.exact[1]));
    EXPECT_LE(error, bound.gradK.allowed[1]);
    EXPECT_LT(bound.gradK.allowed[1], 2 * error);
}

TEST(ErrorBound, GradientsAreThoseOfFiniteDifferences)
{
    const UnitRoundoffs exact = arithmeticOf(ElementType::Float64);
    const DenseInputs inputs = waves();
    const auto loss = [&](const DenseInputs& in) {
        const BoundedAttention result(in, exact);
        return std::inner_product(in.gradO.begin(), in.gradO.end(), result.o.exact.begin(), 0.0) +
               std::inner_product(in.gradLogSumExp.begin(), in.gradLogSumExp.end(),
                                  result.logSumExp.exact.begin(), 0.0);
    };
    const BoundedAttention result(inputs, exact);
    const auto expectGradient = [&](std::vector<double> DenseInputs::*input, const Bounded& gradient) {
        for (std::size_t i = 0; i < (inputs.*input).size(); ++i) {
            DenseInputs more = inputs;
            DenseInputs less = inputs;
            (more.*input)[i] += 1e-5;
            (less.*input)[i] -= 1e-5;
            EXPECT_NEAR(gradient.exact[i], (loss(more) - loss(less)) / 2e-5, 1e-8) << "element " << i;
        }
    };
    expectGradient(&DenseInputs::q, result.gradQ);
    expectGradient(&DenseInputs::k, result.gradK);
    expectGradient(&DenseInputs::v, result.gradV);
}

} // namespace
} // namespace tilescope::kernels
