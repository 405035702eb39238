#include "core/analysis/work/op_families.h"

#include "core/analysis/work/op_work.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::analysis {

namespace {

/// Converts aten::native_layer_norm to NativeLayerNormBackward0.
std::string nodeOf(std::string_view op)
{
    std::string node;
    bool upper = true;
    for (const char character : op.substr(op.find("::") + 2)) {
        if (character != '_')
            node +=
                upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(character))) : character;
        upper = character == '_';
    }
    return node + "Backward0";
}

} // namespace

TEST(FamilyOfOp, IsTheFamilyOfTheRuleThatCountsTheOp)
{
    const std::vector<std::string_view> ops = opsWithRules();
    ASSERT_GT(ops.size(), 100u);
    for (const std::string_view op : ops)
        EXPECT_EQ(familyOfOp(op), ruleOf(op)->family) << op;
}

TEST(FamilyOfOp, IsTheSameForAnOpItsInPlaceFormAndItsBackwardOp)
{
    for (const std::string_view op : opsWithRules()) {
        // A loss's forward op reduces, its backward op does not: each has its own rule. Lists of tensors and other
        // libraries do not have these forms.
        if (op.find("_loss") != std::string_view::npos || op.starts_with("aten::_foreach_") ||
            !op.starts_with("aten::"))
            continue;
        std::string_view name = op;
        if (name.ends_with('_'))
            name.remove_suffix(1);
        const KernelFamily family = ruleOf(op)->family;
        for (const char* suffix : {"", "_"}) {
            const std::string other = std::string(name) + suffix;
            EXPECT_EQ(familyOfOp(other), family) << other;
        }
        // The gradient of a sum is not a sum.
        if (family == KernelFamily::Reduction || family == KernelFamily::Memset)
            continue;
        EXPECT_EQ(familyOfOp(std::string(name) + "_backward"), family) << name;
        EXPECT_EQ(familyOfOp(nodeOf(name)), family) << nodeOf(name);
        EXPECT_EQ(familyOfOp("autograd::engine::evaluate_function: " + nodeOf(name)), family) << name;
    }
}

TEST(FamilyOfOp, MatchesWholeNamesOnly)
{
    using enum KernelFamily;
    const std::vector<std::pair<std::string_view, KernelFamily>> expected{
        {"aten::expand", Other},
        {"aten::expand_as", Other},
        {"ExpandBackward0", Other},
        {"aten::exp", Elementwise},
        {"aten::addmm", Matmul},
        {"aten::add", Elementwise},
        {"aten::maximum", Elementwise},
        {"aten::max", Reduction},
        {"aten::summary", Other},
        {"aten::t", Other},
        {"aten::to", Copy},
        {"aten::topk", Reduction},
        {"aten::normal_", Elementwise},
        {"aten::norm", Reduction},
        {"aten::address_of", Other},
        {"aten::copysign", Other},
        {"", Other},
        {"Backward0", Other},
        {"::", Other},
        {"_", Other},
        {"aten::", Other},
    };
    for (const auto& [op, family] : expected)
        EXPECT_EQ(familyOfOp(op), family) << op;
}

TEST(FamilyOfOp, KnowsTheOpsThatOnlyCallOthers)
{
    using enum KernelFamily;
    const std::vector<std::pair<std::string_view, KernelFamily>> expected{
        {"aten::gelu", Elementwise},
        {"aten::tanh", Elementwise},
        {"aten::sqrt", Elementwise},
        {"aten::abs", Elementwise},
        {"GeluBackward0", Elementwise},
        {"TanhBackward0", Elementwise},
        {"aten::matmul", Matmul},
        {"MmBackward0", Matmul},
        {"BmmBackward0", Matmul},
        {"aten::softmax", Softmax},
        {"LogSoftmaxBackward0", Softmax},
        {"aten::layer_norm", Norm},
        {"NativeLayerNormBackward0", Norm},
        {"aten::cudnn_batch_norm_backward", Norm},
        {"aten::scaled_dot_product_attention", Attention},
        {"aten::_scaled_dot_product_attention_math", Attention},
        {"ScaledDotProductFlashAttentionForCpuBackward0", Attention},
        {"tilescope::attention_forward", Attention},
        {"EmbeddingBackward0", Embedding},
        {"aten::clone", Copy},
        {"aten::_to_copy", Copy},
        {"ToCopyBackward0", Copy},
        {"aten::zeros_like", Memset},
        {"SumBackward1", Elementwise},
        {"MeanBackward1", Elementwise},
        {"torch::autograd::AccumulateGrad", Elementwise},
        {"aten::_foreach_addcdiv_", Optimizer},
        {"aten::_fused_sgd_", Optimizer},
        {"Optimizer.step#AdamW.step", Optimizer},
        {"nccl:all_reduce", Collective},
        {"c10d::allreduce_", Collective},
        {"aten::cumsum", Scan},
        {"aten::convolution", Convolution},
        {"ConvolutionBackward0", Convolution},
        {"vllm::unified_attention_with_output", Attention},
        {"vllm::all_reduce", Collective},
        {"symm_mem::two_shot_all_reduce_", Collective},
        {"_C::rotary_embedding", Attention},
        {"_C_cache_ops::concat_and_cache_mla", Attention},
        {"_moe_C::topk_softmax", Reduction},
        {"vllm::moe_forward", Other},
        {"torch_ext::per_token_group_quant_fp8", Elementwise},
        {"LigerRMSNormFunctionBackward", Norm},
        {"mamba_ssm::selective_scan_fwd", Scan},
        {"aten::logsumexp", Reduction},
    };
    for (const auto& [op, family] : expected)
        EXPECT_EQ(familyOfOp(op), family) << op;
}

} // namespace tilescope::analysis
