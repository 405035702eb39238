#include "core/analysis/advice/conversions.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

const std::vector<Interval> kWall{{timestampAt(0), timestampAt(10'000)}};
constexpr ProductRates kRates{.fp32 = 100, .tf32 = 200, .low = 500};

/// 100 ns at place 1 and 50 ns at place 2.
std::vector<GroupedTime> conversions()
{
    return {{{timestampAt(0), timestampAt(100)}, 1}, {{timestampAt(200), timestampAt(250)}, 2}};
}

} // namespace

TEST(Conversions, AreRecognisedByTheNamesOfPyTorch)
{
    EXPECT_TRUE(convertsType(
        "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda("
        "at::TensorIteratorBase&)::{lambda(float)#1}>"));
    EXPECT_TRUE(
        convertsType("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
                     "at::TensorIteratorBase&)::{lambda()#3}, at::native::memory::LoadWithCast<1>>"));
    EXPECT_FALSE(
        convertsType("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
                     "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>>"));
    EXPECT_FALSE(
        convertsType("void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>"));
}

TEST(Conversions, CostWhatTheirPlaceDoesNotSave)
{
    // 10 ns of products in bf16 would take at most 40 ns more in fp32.
    const Stake stake = costlyConversions(conversions(), kWall, {}, {{1, 10_ns}}, kRates);
    EXPECT_EQ(stake.time, 60_ns + 50_ns);
    EXPECT_EQ(stake.parts[0].group, 1U);
    EXPECT_EQ(stake.parts[0].atStake, 60_ns);
    EXPECT_EQ(stake.parts[1].atStake, 50_ns) << "without products they save nothing";
}

TEST(Conversions, ThatPayAreNotAtStake)
{
    EXPECT_EQ(costlyConversions(conversions(), kWall, {}, {{1, 25_ns}, {2, 1'000_ns}}, kRates).time, 0_ns);
}

} // namespace tilescope::analysis
