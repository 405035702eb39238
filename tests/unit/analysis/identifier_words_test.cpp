#include "core/analysis/kernels/identifier_words.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

TEST(IdentifierWords, AreTheSameInEachSpelling)
{
    for (const char* spelling :
         {"rms_norm_kernel", "RMSNormKernel", "rmsNorm2d", "fused__RmsNorm", "RMS_NORM"})
        EXPECT_TRUE(IdentifierWords(spelling).contain("rmsnorm")) << spelling;
}

TEST(IdentifierWords, AreWholeUnlessThePatternIsOpen)
{
    const IdentifierWords words("fusedLayernormKernel");
    EXPECT_TRUE(words.contain("layernorm"));
    EXPECT_FALSE(words.contain("norm"));
    EXPECT_TRUE(words.contain("*norm"));
    EXPECT_FALSE(words.contain("layer"));
    EXPECT_TRUE(words.contain("layer*"));
    EXPECT_TRUE(words.contain("*ernorm*"));
    EXPECT_FALSE(IdentifierWords("convert_type").contain("conv"));
    EXPECT_TRUE(IdentifierWords("conv2d_fwd").contain("conv"));
}

TEST(IdentifierWords, AnchorsMeanTheBeginAndTheEnd)
{
    EXPECT_TRUE(IdentifierWords("_fwd_kernel").contain("^fwdkernel$"));
    EXPECT_FALSE(IdentifierWords("layer_norm_fwd_kernel").contain("^fwdkernel$"));
    EXPECT_FALSE(IdentifierWords("_fwd_kernel_stage1").contain("^fwdkernel$"));
    EXPECT_TRUE(IdentifierWords("_fwd_kernel_stage1").contain("^fwdkernel"));
}

TEST(IdentifierWords, TheModelGemmaIsNoMatrixProduct)
{
    for (const char* name :
         {"_gemma_rms_layernorm_forward", "GemmaRMSNormKernel", "gemma3_rms_norm", "rmsnorm_gemma"}) {
        EXPECT_FALSE(IdentifierWords(name).contain("*gemm*")) << name;
        EXPECT_TRUE(IdentifierWords(name).contain("rms*")) << name;
    }
    for (const char* name : {"gemm_a8w8", "hgemmA16", "sgemm_largek", "gemmable", "MyGEMMAdd"})
        EXPECT_TRUE(IdentifierWords(name).contain("*gemm*")) << name;
}

TEST(IdentifierWords, NothingMatchesAnEmptyPatternOrIdentifier)
{
    EXPECT_FALSE(IdentifierWords("").contain("norm"));
    for (const char* pattern : {"", "*", "**", "^", "$", "^$"})
        EXPECT_FALSE(IdentifierWords("norm").contain(pattern)) << pattern;
}

} // namespace tilescope::analysis
