#include "core/analysis/work/op_families.h"

#include "core/analysis/work/op_work.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

namespace tilescope::analysis {

namespace {

using Family = KernelFamily;

struct Name {
    std::string_view base; ///< without namespace, leading and trailing underscores and `_backward`
    Family family;
};

// Sorted. Ops whose work no rule counts: mostly those that call others, which have rules.
constexpr std::array kNames{
    Name{"acos", Family::Elementwise},
    Name{"adam", Family::Optimizer},
    Name{"adamw", Family::Optimizer},
    Name{"addbmm", Family::Matmul},
    Name{"addmv", Family::Matmul},
    Name{"all", Family::Reduction},
    Name{"amin", Family::Reduction},
    Name{"amp_update_scale", Family::Optimizer},
    Name{"any", Family::Reduction},
    Name{"arange", Family::Elementwise},
    Name{"argmax", Family::Reduction},
    Name{"argmin", Family::Reduction},
    Name{"asin", Family::Elementwise},
    Name{"atan", Family::Elementwise},
    Name{"bernoulli", Family::Elementwise},
    Name{"bitwise_and", Family::Elementwise},
    Name{"bitwise_not", Family::Elementwise},
    Name{"bitwise_or", Family::Elementwise},
    Name{"bitwise_xor", Family::Elementwise},
    Name{"ceil", Family::Elementwise},
    Name{"clamp", Family::Elementwise},
    Name{"clamp_max", Family::Elementwise},
    Name{"clamp_min", Family::Elementwise},
    Name{"clone", Family::Copy},
    Name{"complex", Family::Elementwise},
    Name{"contiguous", Family::Copy},
    Name{"copy", Family::Copy},
    Name{"cosh", Family::Elementwise},
    Name{"cross_entropy_loss", Family::Reduction},
    Name{"cumprod", Family::Reduction},
    Name{"cumsum", Family::Reduction},
    Name{"dot", Family::Matmul},
    Name{"dropout", Family::Elementwise},
    Name{"einsum", Family::Matmul},
    Name{"elu", Family::Elementwise},
    Name{"embedding_bag", Family::Embedding},
    Name{"erf", Family::Elementwise},
    Name{"exp2", Family::Elementwise},
    Name{"expm1", Family::Elementwise},
    Name{"exponential", Family::Elementwise},
    Name{"floor", Family::Elementwise},
    Name{"floor_divide", Family::Elementwise},
    Name{"fmod", Family::Elementwise},
    Name{"full", Family::Memset},
    Name{"full_like", Family::Memset},
    Name{"gather", Family::Elementwise},
    Name{"hardtanh", Family::Elementwise},
    Name{"index", Family::Elementwise},
    Name{"index_add", Family::Elementwise},
    Name{"index_copy", Family::Elementwise},
    Name{"index_put", Family::Elementwise},
    Name{"int_mm", Family::Matmul},
    Name{"isfinite", Family::Elementwise},
    Name{"isinf", Family::Elementwise},
    Name{"isnan", Family::Elementwise},
    Name{"leaky_relu", Family::Elementwise},
    Name{"lerp", Family::Elementwise},
    Name{"linalg_vector_norm", Family::Reduction},
    Name{"log10", Family::Elementwise},
    Name{"log1p", Family::Elementwise},
    Name{"log2", Family::Elementwise},
    Name{"log_sigmoid", Family::Elementwise},
    Name{"log_softmax", Family::Softmax},
    Name{"logical_and", Family::Elementwise},
    Name{"logical_not", Family::Elementwise},
    Name{"logical_or", Family::Elementwise},
    Name{"logical_xor", Family::Elementwise},
    Name{"logsumexp", Family::Reduction},
    Name{"masked_scale", Family::Elementwise},
    Name{"matmul", Family::Matmul},
    Name{"max", Family::Reduction},
    Name{"min", Family::Reduction},
    Name{"minimum", Family::Elementwise},
    Name{"multinomial", Family::Elementwise},
    Name{"mv", Family::Matmul},
    Name{"native_dropout", Family::Elementwise},
    Name{"ne", Family::Elementwise},
    Name{"new_full", Family::Memset},
    Name{"new_ones", Family::Memset},
    Name{"new_zeros", Family::Memset},
    Name{"nll_loss", Family::Reduction},
    Name{"nll_loss_nd", Family::Reduction},
    Name{"nonzero", Family::Reduction},
    Name{"norm", Family::Reduction},
    Name{"one_hot", Family::Elementwise},
    Name{"ones", Family::Memset},
    Name{"ones_like", Family::Memset},
    Name{"outer", Family::Elementwise},
    Name{"pin_memory", Family::Copy},
    Name{"polar", Family::Elementwise},
    Name{"prod", Family::Reduction},
    Name{"rand", Family::Elementwise},
    Name{"randint", Family::Elementwise},
    Name{"randn", Family::Elementwise},
    Name{"relu", Family::Elementwise},
    Name{"remainder", Family::Elementwise},
    Name{"repeat", Family::Copy},
    Name{"repeat_interleave", Family::Copy},
    Name{"roll", Family::Copy},
    Name{"round", Family::Elementwise},
    Name{"rsub", Family::Elementwise},
    Name{"scaled_mm", Family::Matmul},
    Name{"scatter", Family::Elementwise},
    Name{"scatter_add", Family::Elementwise},
    Name{"sgd", Family::Optimizer},
    Name{"sgn", Family::Elementwise},
    Name{"sign", Family::Elementwise},
    Name{"sinh", Family::Elementwise},
    Name{"softmax", Family::Softmax},
    Name{"softplus", Family::Elementwise},
    Name{"square", Family::Elementwise},
    Name{"stack", Family::Copy},
    Name{"std", Family::Reduction},
    Name{"tan", Family::Elementwise},
    Name{"threshold", Family::Elementwise},
    Name{"to", Family::Copy},
    Name{"to_copy", Family::Copy},
    Name{"tril", Family::Elementwise},
    Name{"triu", Family::Elementwise},
    Name{"trunc", Family::Elementwise},
    Name{"uniform", Family::Elementwise},
    Name{"var", Family::Reduction},
    Name{"var_mean", Family::Reduction},
    Name{"zeros", Family::Memset},
    Name{"zeros_like", Family::Memset},
};
static_assert(std::ranges::is_sorted(kNames, {}, &Name::base), "names are found by bisection");

// Backward nodes that do something else than their forward op: the gradient of a sum is the same for all.
constexpr std::array kNodes{Name{"AccumulateGrad", Family::Elementwise},
                            Name{"MeanBackward", Family::Elementwise},
                            Name{"SumBackward", Family::Elementwise}};

// What the components of longer names give away: `aten::_scaled_dot_product_attention_math`,
// `aten::cudnn_batch_norm`. Whole components only: `exp` is no part of `expand`.
constexpr std::array kComponents{Name{"attention", Family::Attention}, Name{"softmax", Family::Softmax},
                                 Name{"layer_norm", Family::Norm},     Name{"rms_norm", Family::Norm},
                                 Name{"batch_norm", Family::Norm},     Name{"group_norm", Family::Norm},
                                 Name{"instance_norm", Family::Norm},  Name{"embedding", Family::Embedding},
                                 Name{"adam", Family::Optimizer},      Name{"adamw", Family::Optimizer},
                                 Name{"sgd", Family::Optimizer},       Name{"foreach", Family::Optimizer}};

bool takePrefix(std::string_view& text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

bool takeSuffix(std::string_view& text, std::string_view suffix)
{
    if (!text.ends_with(suffix) || text.size() == suffix.size())
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

/// `NativeLayerNorm` as native_layer_norm.
std::string snakeCase(std::string_view text)
{
    std::string snake;
    for (const char character : text) {
        const auto letter = static_cast<unsigned char>(character);
        if (std::isupper(letter) != 0 && !snake.empty())
            snake += '_';
        snake += static_cast<char>(std::tolower(letter));
    }
    return snake;
}

/// Whether the words of `part` follow each other among those of `base`, which underscores separate.
bool hasComponent(std::string_view base, std::string_view part)
{
    for (std::size_t at = base.find(part); at != std::string_view::npos; at = base.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        if ((at == 0 || base[at - 1] == '_') && (end == base.size() || base[end] == '_'))
            return true;
    }
    return false;
}

std::optional<Family> familyOfRule(const std::string& op)
{
    const std::optional<OpRule> rule = ruleOf(op);
    return rule ? std::optional(rule->family) : std::nullopt;
}

/// The family of what is called `base` apart from its namespace and the underscores around it.
std::optional<Family> familyOfBase(std::string_view base)
{
    while (!base.empty() && base.front() == '_')
        base.remove_prefix(1);
    while (takeSuffix(base, "_") || takeSuffix(base, "_backward") || takeSuffix(base, "_backward_data")) {
    }
    const std::string name = "aten::" + std::string(base);
    for (const std::string& op : {name, name + "_", "aten::_" + std::string(base)})
        if (const auto family = familyOfRule(op))
            return family;
    const auto* found = std::ranges::lower_bound(kNames, base, {}, &Name::base);
    if (found != kNames.end() && found->base == base)
        return found->family;
    for (const Name& component : kComponents)
        if (hasComponent(base, component.base))
            return component.family;
    return {};
}

/// The family of a node of the backward graph: `AddmmBackward0`.
std::optional<Family> familyOfNode(std::string_view name)
{
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0)
        name.remove_suffix(1);
    for (const Name& node : kNodes)
        if (name == node.base)
            return node.family;
    return takeSuffix(name, "Backward") ? familyOfBase(snakeCase(name)) : std::nullopt;
}

bool isCollective(std::string_view op)
{
    return op.starts_with("nccl") || op.starts_with("c10d") || op.starts_with("_c10d") ||
           op == "record_param_comms" || op.find("all_reduce") != std::string_view::npos;
}

} // namespace

KernelFamily familyOfOp(std::string_view op)
{
    takePrefix(op, "autograd::engine::evaluate_function: ");
    if (const std::optional<OpRule> rule = ruleOf(op))
        return rule->family;
    if (op.starts_with("Optimizer"))
        return Family::Optimizer;
    if (isCollective(op))
        return Family::Collective;
    if (const std::size_t space = op.rfind("::"); space != std::string_view::npos)
        op.remove_prefix(space + 2);
    if (const auto family = familyOfNode(op))
        return *family;
    return familyOfBase(op).value_or(Family::Other);
}

} // namespace tilescope::analysis
