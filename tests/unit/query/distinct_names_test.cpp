#include "core/query/kernels/distinct_names.h"

#include <gmock/gmock.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> distinct(const std::vector<std::pair<std::string, std::string>>& names)
{
    std::vector<std::string> shown;
    for (const auto& [full, text] : names)
        shown.push_back(text);
    std::vector<ShownName> all;
    for (std::size_t i = 0; i < names.size(); ++i)
        all.push_back({names[i].first, &shown[i]});
    makeDistinct(all);
    return shown;
}

TEST(DistinctNames, ContainWhatDiffers)
{
    EXPECT_THAT(distinct({{"vectorized<4, AUnaryFunctor<MulFunctor<float>>>", "mul fp32"},
                          {"vectorized<4, BinaryFunctor<MulFunctor<float>>>", "mul fp32"},
                          {"exp<float>", "exp fp32"}}),
                ElementsAre("mul fp32 (AUnaryFunctor)", "mul fp32 (BinaryFunctor)", "exp fp32"));
    EXPECT_THAT(
        distinct(
            {{"gemm_64x64_K32_tn", "gemm"}, {"gemm_64x64_K64_tn", "gemm"}, {"gemm_64x64_K64_nn", "gemm"}}),
        ElementsAre("gemm (K32 tn)", "gemm (K64 tn)", "gemm (K64 nn)"));
}

TEST(DistinctNames, AreNumberedWhereWordsAreEqual)
{
    EXPECT_THAT(distinct({{"a<b>", "x"}, {"a(b)", "x"}, {"a b", "x"}}), ElementsAre("x", "x (#2)", "x (#3)"));
}

TEST(DistinctNames, LeaveDifferentNamesAlone)
{
    EXPECT_THAT(distinct({{"a", "x"}, {"b", "y"}}), ElementsAre("x", "y"));
    EXPECT_THAT(distinct({}), ElementsAre());
}

} // namespace
} // namespace tilescope::query
