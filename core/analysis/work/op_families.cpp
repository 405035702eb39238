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
    const Family family = KernelFamilies::standard().familyOfOp(base);
    return family == Family::Other ? std::nullopt : std::optional(family);
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
           op.starts_with("symm_mem::") || op == "record_param_comms" ||
           op.find("all_reduce") != std::string_view::npos;
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
