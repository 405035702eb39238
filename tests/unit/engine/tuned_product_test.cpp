#include "core/engine/lm/tuned_product.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tilescope::engine {
namespace {

using at::Tensor;

at::TensorOptions gpuOptions(at::ScalarType type)
{
    return at::device(at::kCUDA).dtype(type);
}

/// Random, stored by rows or by columns.
Tensor matrix(std::int64_t rows, std::int64_t columns, bool byRows)
{
    const auto bf16 = gpuOptions(at::kBFloat16);
    return byRows ? at::randn({rows, columns}, bf16) : at::randn({columns, rows}, bf16).t();
}

/// Largest error of a sum, to the sum of the absolute values of its products.
double productError(const Tensor& target, const Tensor& a, const Tensor& b)
{
    const Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
    const Tensor scale = at::mm(a.to(at::kDouble).abs(), b.to(at::kDouble).abs());
    return ((target.to(at::kDouble) - exact).abs() / scale).max().item<double>();
}

/// Rounding of the sum to the target's type, and of the sum's order in fp32.
double allowed(const Tensor& target)
{
    return target.scalar_type() == at::kFloat ? 1e-5 : 1.0 / 256;
}

void expectProducts(std::int64_t m, std::int64_t n, std::int64_t k, bool aByRows, bool bByRows,
                    at::ScalarType type)
{
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " of " + std::to_string(k) +
                 (aByRows ? " rows" : " columns") + (bByRows ? " rows" : " columns"));
    const Tensor a = matrix(m, k, aByRows);
    const Tensor b = matrix(k, n, bByRows);
    Tensor added = at::zeros({m, n}, gpuOptions(type)); // before the shape is known
    multiplyInto(added, ProductTarget::Add, a, b, ProductChoice::Fastest);
    EXPECT_LE(productError(added, a, b), allowed(added));
    Tensor target = at::full({m, n}, std::numeric_limits<float>::quiet_NaN(), gpuOptions(type));
    multiplyInto(target, ProductTarget::Set, a, b, ProductChoice::Fastest);
    EXPECT_LE(productError(target, a, b), allowed(target));
    Tensor again = at::full_like(target, std::numeric_limits<float>::quiet_NaN());
    multiplyInto(again, ProductTarget::Set, a, b, ProductChoice::Fastest);
    EXPECT_TRUE(at::equal(again, target));
    multiplyInto(again, ProductTarget::Add, a, b, ProductChoice::Fastest);
    EXPECT_LE(productError(again * 0.5, a, b), allowed(again));
}

TEST(TunedProduct, IsTheProductAndItsSumInEveryLayout)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    at::manual_seed(3);
    constexpr std::array<std::array<std::int64_t, 3>, 4> kShapes{
        {{8, 16, 24}, {768, 2304, 512}, {64, 10000, 136}, {1032, 264, 4096}}};
    for (const auto& [m, n, k] : kShapes)
        for (const bool aByRows : {true, false})
            for (const bool bByRows : {true, false})
                for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
                    expectProducts(m, n, k, aByRows, bByRows, type);
}

TEST(TunedProduct, TakesFactorsWithGaps)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    const Tensor a = matrix(32, 300, true).narrow(1, 10, 256);
    const Tensor b = matrix(256, 64, true);
    Tensor target = at::empty({32, 64}, gpuOptions(at::kFloat));
    multiplyInto(target, ProductTarget::Set, a, b, ProductChoice::Fastest);
    EXPECT_LE(productError(target, a, b), allowed(target));
}

TEST(TunedProduct, IsAnOpWithItsShapes)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    static std::vector<std::string> seen;
    seen.clear();
    at::RecordFunctionGuard enabled(true);
    const auto handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& op) -> std::unique_ptr<at::ObserverContext> {
            if (std::string_view(op.name()) == "tilescope::mm")
                for (const c10::IValue& input : op.inputs())
                    seen.push_back(std::to_string(input.toTensor().size(0)));
            return nullptr;
        }).needsInputs(true));
    Tensor target = at::empty({16, 64}, gpuOptions(at::kBFloat16));
    multiplyInto(target, ProductTarget::Set, matrix(16, 32, true), matrix(32, 64, true),
                 ProductChoice::Fastest);
    at::removeCallback(handle);
    EXPECT_EQ(seen, (std::vector<std::string>{"16", "32"}));
}

TEST(TunedProduct, IsThatOfLibTorchOnTheProcessor)
{
    const Tensor a = at::randn({8, 16}, at::kBFloat16);
    const Tensor b = at::randn({16, 4}, at::kBFloat16);
    Tensor target = at::ones({8, 4}, at::kFloat);
    multiplyInto(target, ProductTarget::Add, a, b, ProductChoice::Fastest);
    EXPECT_TRUE(at::equal(target, at::ones({8, 4}).addmm(a.to(at::kFloat), b.to(at::kFloat))));
    Tensor rounded = at::empty({8, 4}, at::kBFloat16);
    multiplyInto(rounded, ProductTarget::Set, a, b, ProductChoice::LibTorch);
    EXPECT_TRUE(at::equal(rounded, at::mm(a, b)));
}

} // namespace
} // namespace tilescope::engine
