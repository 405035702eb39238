#include "core/engine/lm/weight_gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace tilescope::engine {
namespace {

using at::Tensor;

/// Largest error of a sum, to the sum of the absolute values of its products.
double errorOf(const Tensor& target, const Tensor& gradient, const Tensor& x)
{
    const Tensor exact = at::mm(gradient.to(at::kDouble).t(), x.to(at::kDouble));
    const Tensor scale = at::mm(gradient.to(at::kDouble).abs().t(), x.to(at::kDouble).abs());
    return ((target.to(at::kDouble) - exact).abs() / scale).max().item<double>();
}

TEST(TunedWeightGradient, IsTheProductAndItsSum)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    at::manual_seed(3);
    const auto bf16 = at::device(at::kCUDA).dtype(at::kBFloat16);
    const auto fp32 = at::device(at::kCUDA).dtype(at::kFloat);
    constexpr std::array<std::array<std::int64_t, 3>, 4> kShapes{
        {{8, 16, 24}, {768, 2304, 512}, {64, 10000, 136}, {1032, 264, 4096}}};
    for (const auto& [m, n, k] : kShapes) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " of " + std::to_string(k));
        const Tensor gradient = at::randn({k, m}, bf16);
        const Tensor x = at::randn({k, n}, bf16);
        Tensor added = at::zeros({m, n}, fp32); // before the shape is known
        tunedWeightGradient(added, GradientTarget::Add, gradient, x);
        EXPECT_LE(errorOf(added, gradient, x), 1e-5);
        Tensor target = at::full({m, n}, std::numeric_limits<float>::quiet_NaN(), fp32);
        tunedWeightGradient(target, GradientTarget::Set, gradient, x);
        EXPECT_LE(errorOf(target, gradient, x), 1e-5);
        Tensor again = at::full_like(target, std::numeric_limits<float>::quiet_NaN());
        tunedWeightGradient(again, GradientTarget::Set, gradient, x);
        EXPECT_TRUE(at::equal(again, target));
        tunedWeightGradient(again, GradientTarget::Add, gradient, x);
        EXPECT_LE(errorOf(again * 0.5, gradient, x), 1e-5);
    }
}

TEST(TunedWeightGradient, TakesFactorsInAnyLayout)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    const auto bf16 = at::device(at::kCUDA).dtype(at::kBFloat16);
    const Tensor gradient = at::randn({32, 256}, bf16).t();
    const Tensor x = at::randn({256, 64}, bf16);
    Tensor target = at::empty({32, 64}, bf16.dtype(at::kFloat));
    tunedWeightGradient(target, GradientTarget::Set, gradient, x);
    EXPECT_LE(errorOf(target, gradient, x), 1e-5);
}

} // namespace
} // namespace tilescope::engine
