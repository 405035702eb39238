#include "core/query/hue.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr std::array<std::string_view, kHueCount> kWords = {
    "matmul",    "attention", "softmax", "norm",           "elementwise",   "reduction", "embedding",
    "optimizer", "copy",      "memset",  "collective",     "other",         "range",     "range",
    "range",     "CUDA call", "busy",    "host launching", "synchronising", "tracing",   "unexplained"};

// What an op's name contains and what its kernels are then for; the first that fits decides.
struct OpRule {
    std::string_view part;
    Hue hue;
};
constexpr OpRule kOpRules[] = {
    {"optimizer", Hue::Optimizer},
    {"Optimizer", Hue::Optimizer},
    {"adam", Hue::Optimizer},
    {"_foreach_add", Hue::Optimizer},
    {"softmax", Hue::Softmax},
    {"Softmax", Hue::Softmax},
    {"scaled_dot", Hue::Attention},
    {"ScaledDot", Hue::Attention},
    {"attention", Hue::Attention},
    {"Attention", Hue::Attention},
    {"flash", Hue::Attention},
    {"layer_norm", Hue::Norm},
    {"rms_norm", Hue::Norm},
    {"batch_norm", Hue::Norm},
    {"_norm", Hue::Norm},
    {"NormBackward", Hue::Norm},
    {"embedding", Hue::Embedding},
    {"Embedding", Hue::Embedding},
    {"matmul", Hue::Matmul},
    {"Matmul", Hue::Matmul},
    {"aten::mm", Hue::Matmul},
    {"aten::bmm", Hue::Matmul},
    {"addmm", Hue::Matmul},
    {"baddbmm", Hue::Matmul},
    {"linear", Hue::Matmul},
    {"einsum", Hue::Matmul},
    {"MmBackward", Hue::Matmul},
    {"BmmBackward", Hue::Matmul},
    {"LinearBackward", Hue::Matmul},
    {"nccl", Hue::Collective},
    {"c10d", Hue::Collective},
    {"all_reduce", Hue::Collective},
    {"aten::copy_", Hue::Copy},
    {"aten::clone", Hue::Copy},
    {"aten::to", Hue::Copy},
    {"contiguous", Hue::Copy},
    {"aten::_to_copy", Hue::Copy},
    {"aten::cat", Hue::Copy},
    {"CloneBackward", Hue::Copy},
    {"CopyBackward", Hue::Copy},
    {"CatBackward", Hue::Copy},
    {"zero_", Hue::Memset},
    {"aten::fill_", Hue::Memset},
    {"aten::zeros", Hue::Memset},
    {"aten::sum", Hue::Reduction},
    {"aten::mean", Hue::Reduction},
    {"aten::max", Hue::Reduction},
    {"aten::amax", Hue::Reduction},
    {"aten::logsumexp", Hue::Reduction},
    {"SumBackward", Hue::Elementwise},
    {"MeanBackward", Hue::Elementwise},
    {"aten::add", Hue::Elementwise},
    {"aten::sub", Hue::Elementwise},
    {"aten::mul", Hue::Elementwise},
    {"aten::div", Hue::Elementwise},
    {"aten::pow", Hue::Elementwise},
    {"aten::exp", Hue::Elementwise},
    {"aten::neg", Hue::Elementwise},
    {"aten::silu", Hue::Elementwise},
    {"aten::sigmoid", Hue::Elementwise},
    {"aten::rsqrt", Hue::Elementwise},
    {"aten::where", Hue::Elementwise},
    {"masked_fill", Hue::Elementwise},
    {"aten::tril", Hue::Elementwise},
    {"aten::triu", Hue::Elementwise},
    {"aten::cos", Hue::Elementwise},
    {"aten::sin", Hue::Elementwise},
    {"MulBackward", Hue::Elementwise},
    {"AddBackward", Hue::Elementwise},
    {"DivBackward", Hue::Elementwise},
    {"PowBackward", Hue::Elementwise},
    {"SiluBackward", Hue::Elementwise},
    {"MaskedFillBackward", Hue::Elementwise},
    {"AccumulateGrad", Hue::Elementwise},
};

} // namespace

std::string_view hueWord(Hue hue)
{
    return kWords[std::size_t(hue)];
}

Hue hueOfFamily(std::string_view family)
{
    const auto end = kWords.begin() + kFamilyCount;
    const auto found = std::find(kWords.begin(), end, family);
    return found == end ? Hue::Other : Hue(found - kWords.begin());
}

Hue hueOfOp(std::string_view name)
{
    for (const OpRule& rule : kOpRules)
        if (name.find(rule.part) != std::string_view::npos)
            return rule.hue;
    return Hue::Other;
}

Hue hueOfRange(std::string_view path)
{
    const std::size_t at = path.rfind("attention");
    if (at == std::string_view::npos)
        return Hue::Range;
    const std::string_view below = path.substr(at + std::string_view("attention").size());
    if (below.empty())
        return Hue::RangeAttention;
    const bool core = below == "/scores" || below == "/softmax" || below == "/output" || below == "/flash" ||
                      below == "/sdpa";
    return core ? Hue::RangeAttentionInner : Hue::Range;
}

} // namespace tilescope::query
