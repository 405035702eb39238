#include "core/engine/lm/fp8_product.h"
#include "kernels/include/fp8.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilescope::engine {
namespace {

using at::Tensor;

/// Half the distance of two E4M3 numbers, relative to the number.
constexpr double kRoundoff = 0x1p-4;

Tensor inDouble(const QuantizedRows& rows)
{
    return rows.values.to(at::kDouble) * rows.scales.to(at::kDouble);
}

Tensor inDouble(const QuantizedWeight& weight)
{
    return weight.values.to(at::kDouble).t() * weight.scales[0].to(at::kDouble);
}

Tensor weightOf(std::int64_t in, std::int64_t out)
{
    return at::empty_strided({in, out}, {1, in}, at::dtype(at::kFloat)).normal_().to(at::kBFloat16);
}

} // namespace

TEST(E4m3Bits, RoundsEveryFp32NumberOfTheRangeAsLibTorchDoes)
{
    // All bf16 numbers and their neighbours in fp32; LibTorch gives NaN beyond the range instead of saturating.
    const Tensor high = at::arange(0, 1 << 16, at::dtype(at::kInt)) * (1 << 16);
    for (const int low : {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff}) {
        const Tensor x = (high + low).view(at::kFloat);
        const Tensor expected = x.to(at::kFloat8_e4m3fn).view(at::kByte);
        for (std::int64_t i = 0; i < x.numel(); ++i) {
            const float value = x.const_data_ptr<float>()[i];
            const std::uint8_t bits = kernels::e4m3Bits(value);
            if (std::isnan(value))
                EXPECT_EQ(bits & 0x7f, 0x7f);
            else if (std::fabs(value) >= kernels::kLargestE4m3)
                EXPECT_EQ(bits, std::signbit(value) ? 0xfe : 0x7e) << value;
            else
                ASSERT_EQ(bits, expected.const_data_ptr<std::uint8_t>()[i]) << value;
        }
    }
}

TEST(QuantizedRows, HaveTheErrorOfRoundingOnly)
{
    at::manual_seed(1);
    const Tensor x = at::randn({7, 48}) * at::pow(10.0, at::arange(-20, 15, 5).view({7, 1}));
    const QuantizedRows rows = quantizedRows(x);
    const Tensor exact = x.to(at::kDouble);
    const Tensor largest = exact.abs().amax(1, true);
    // Below the smallest normal number, 2^-6 of 448, the distance of two numbers is constant.
    const Tensor bound = at::maximum(exact.abs(), largest / 448 * 0x1p-6) * (kRoundoff * (1 + 1e-6));
    EXPECT_TRUE(((inDouble(rows) - exact).abs() <= bound).all().item<bool>());
    // The largest magnitude of each row is 448.
    EXPECT_TRUE((rows.values.to(at::kFloat).abs().amax(1) == 448).all().item<bool>());
}

TEST(QuantizedRows, KeepZerosAndShowWhatIsNotFinite)
{
    Tensor x = at::ones({4, 16});
    x[0].zero_();
    x[1][3] = std::numeric_limits<float>::infinity();
    x[2][3] = std::numeric_limits<float>::quiet_NaN();
    x[3].fill_(1e-40);
    const QuantizedRows rows = quantizedRows(x);
    const Tensor values = inDouble(rows);
    EXPECT_TRUE((values[0] == 0).all().item<bool>());
    EXPECT_TRUE(values[1].isnan().all().item<bool>());
    EXPECT_EQ(values[2].isnan().sum().item<std::int64_t>(), 1);
    EXPECT_TRUE((values[3] == 0).all().item<bool>());
    EXPECT_TRUE(at::isfinite(rows.scales[3]).all().item<bool>());
}

TEST(QuantizedWeight, HasOneScaleAndBothOrders)
{
    at::manual_seed(2);
    const Tensor weight = weightOf(48, 80);
    const QuantizedWeight quantized(weight);
    EXPECT_TRUE(at::equal(quantized.values.view(at::kByte).t(), quantized.transposed.view(at::kByte)));
    EXPECT_EQ(quantized.scales.numel(), 80);
    EXPECT_TRUE((quantized.scales == quantized.scales[0]).all().item<bool>());
    const Tensor exact = weight.to(at::kDouble);
    const Tensor bound =
        at::maximum(exact.abs(), exact.abs().max() / 448 * 0x1p-6) * (kRoundoff * (1 + 1e-6));
    EXPECT_TRUE(((inDouble(quantized) - exact).abs() <= bound).all().item<bool>());
}

TEST(QuantizedWeight, FollowsAnUpdateInTheSameMemory)
{
    const Tensor weight = weightOf(32, 16);
    const QuantizedWeight quantized(weight);
    const void* memory = quantized.values.const_data_ptr();
    const Tensor values = quantized.values.view(at::kByte).clone();
    const double scale = quantized.scales[0].item<double>();
    weight.mul_(2);
    quantized.set(weight);
    EXPECT_EQ(quantized.values.const_data_ptr(), memory);
    EXPECT_TRUE(at::equal(quantized.values.view(at::kByte), values));
    EXPECT_EQ(quantized.scales[0].item<double>(), 2 * scale);
}

// The factors are exact in fp64; what is left are sums in fp32 and one rounding to bf16.
void expectProducts(at::Device device, double roundingOfSums)
{
    at::manual_seed(3);
    for (const auto& [rows, in, out] :
         {std::array<std::int64_t, 3>{5, 64, 48}, {64, 48, 160}, {33, 512, 16}}) {
        const Tensor weight = weightOf(in, out);
        const QuantizedWeight quantized(weight.to(device));
        const auto check = [&](const QuantizedRows& x, const Tensor& other, const Tensor& product) {
            const Tensor left = inDouble(x).cpu();
            const Tensor exact = at::mm(left, other);
            const Tensor bound = at::mm(left.abs(), other.abs()) * roundingOfSums + exact.abs() * 0x1p-8;
            EXPECT_EQ(product.scalar_type(), at::kBFloat16);
            EXPECT_TRUE(((product.to(at::kDouble).cpu() - exact).abs() <= bound).all().item<bool>())
                << rows << " " << in << " " << out;
        };
        const Tensor exactWeight = inDouble(quantized).cpu();
        const QuantizedRows x = quantizedRows(at::randn({rows, in}).to(at::kBFloat16).to(device));
        check(x, exactWeight, fp8Product(x, quantized));
        const QuantizedRows gradient = quantizedRows(at::randn({rows, out}).to(at::kBFloat16).to(device));
        check(gradient, exactWeight.t(), fp8InputGradient(gradient, quantized));
    }
}

TEST(Fp8Product, IsTheProductOfTheQuantisedFactors)
{
    expectProducts(at::kCPU, 0x1p-20);
}

TEST(Fp8Product, IsTheSameOnTensorCores)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    // Hopper aligns the products of a step to the largest and keeps 13 bits below it.
    expectProducts(at::kCUDA, 0x1p-12);
}

TEST(QuantizedRows, AreTheSameBitsOnAGpu)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    at::manual_seed(4);
    for (const std::int64_t width : {16, 768, 2560, 6832, 20'480, 32'768})
        for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
            const Tensor x = (at::randn({9, width}) * at::exp2(at::randint(-40, 40, {9, 1}))).to(type);
            const QuantizedRows here = quantizedRows(x);
            const QuantizedRows there = quantizedRows(x.cuda());
            EXPECT_TRUE(at::equal(there.values.view(at::kByte).cpu(), here.values.view(at::kByte))) << width;
            EXPECT_TRUE(at::equal(there.scales.cpu(), here.scales)) << width;
        }
    for (const auto& [in, out] : {std::array<std::int64_t, 2>{16, 16}, {48, 80}, {768, 2304}, {1040, 656}}) {
        const Tensor weight = weightOf(in, out);
        const QuantizedWeight here(weight);
        const QuantizedWeight there(weight.cuda());
        EXPECT_TRUE(at::equal(there.values.view(at::kByte).cpu(), here.values.view(at::kByte))) << in;
        EXPECT_TRUE(at::equal(there.transposed.view(at::kByte).cpu(), here.transposed.view(at::kByte))) << in;
        EXPECT_TRUE(at::equal(there.scales.cpu(), here.scales)) << in;
    }
}

TEST(QuantizeOps, RefuseOtherTensors)
{
    EXPECT_ANY_THROW(quantizedRows(at::zeros({2, 16}, at::dtype(at::kDouble))));
    EXPECT_ANY_THROW(quantizedRows(at::zeros({16})));
    EXPECT_EQ(quantizedRows(at::zeros({0, 16})).values.numel(), 0);
    const QuantizedWeight quantized(weightOf(32, 16));
    EXPECT_ANY_THROW(quantized.set(weightOf(16, 32)));
}

} // namespace tilescope::engine
