#include "core/analysis/work/op_families.h"

#include "core/analysis/work/op_table.h"
#include "core/model/autograd_op.h"

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

// Backward nodes whose work differs from that of their forward op: a sum has the same gradient for all
// elements.
constexpr std::array kNodes{Name{"AccumulateGrad", Family::Elementwise},
                            Name{"MeanBackward", Family::Elementwise},
                            Name{"SumBackward", Family::Elementwise}};

// Components that identify the family of longer names: `aten::_scaled_dot_product_attention_math`,
// `aten::cudnn_batch_norm`. Whole components only: `exp` does not match `expand`.
constexpr std::array kComponents{Name{"attention", Family::Attention},  Name{"softmax", Family::Softmax},
                                 Name{"layer_norm", Family::Norm},      Name{"rms_norm", Family::Norm},
                                 Name{"batch_norm", Family::Norm},      Name{"group_norm", Family::Norm},
                                 Name{"instance_norm", Family::Norm},   Name{"embedding", Family::Embedding},
                                 Name{"flash_attn", Family::Attention}, Name{"adam", Family::Optimizer},
                                 Name{"adamw", Family::Optimizer},      Name{"sgd", Family::Optimizer},
                                 Name{"foreach", Family::Optimizer}};

bool takeSuffix(std::string_view& text, std::string_view suffix)
{
    if (!text.ends_with(suffix) || text.size() == suffix.size())
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

/// Converts `NativeLayerNorm` to native_layer_norm.
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

/// Whether `base` contains the words of `part` in sequence. Underscores separate words.
bool hasComponent(std::string_view base, std::string_view part)
{
    for (std::size_t at = base.find(part); at != std::string_view::npos; at = base.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        if ((at == 0 || base[at - 1] == '_') && (end == base.size() || base[end] == '_'))
            return true;
    }
    return false;
}

/// The family of an op, by its name without namespace and surrounding underscores.
std::optional<Family> familyOfBase(std::string_view base)
{
    while (!base.empty() && base.front() == '_')
        base.remove_prefix(1);
    while (takeSuffix(base, "_") || takeSuffix(base, "_backward") || takeSuffix(base, "_backward_data")) {
    }
    const std::string name = "aten::" + std::string(base);
    for (const std::string& op : {name, name + "_", "aten::_" + std::string(base)})
        if (const OpRow* row = findOp(op))
            return row->family;
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
    op = withoutEvaluation(op);
    if (const OpRow* row = findOp(op))
        return row->family;
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
