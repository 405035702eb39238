#include "core/analysis/work/replayable.h"

#include "core/analysis/work/op_table.h"

#include <algorithm>
#include <charconv>

namespace tilescope::analysis {

namespace {

std::optional<std::int64_t> sizeOf(const OpArguments& arguments, std::size_t tensor, std::int64_t dimension)
{
    if (tensor >= arguments.tensors.size())
        return {};
    const std::vector<std::int64_t>& sizes = arguments.tensors[tensor].sizes;
    if (dimension < 0)
        dimension += std::ssize(sizes);
    return dimension >= 0 && dimension < std::ssize(sizes)
               ? std::optional(sizes[static_cast<std::size_t>(dimension)])
               : std::nullopt;
}

std::optional<std::int64_t> numberAt(const OpArguments& arguments, std::size_t position)
{
    const auto text = arguments.literal(position);
    std::int64_t number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
        return {};
    return number;
}

std::string changesArguments(const std::string& op)
{
    return op + std::string(" changes its arguments");
}

} // namespace

std::optional<std::string> whyNotReplayable(std::string_view op)
{
    const std::string name(op);
    if (!op.starts_with("aten::") && !op.starts_with("tilescope::"))
        return name + " is an op of neither ATen nor Tilescope";
    if (op.ends_with('_'))
        return changesArguments(name);
    const OpRow* const row = findOp(op);
    if (!row || row->kind == OpKind::Uncounted || row->kind == OpKind::Caller)
        return name + " is not among the ops that can be measured alone";
    switch (row->kind) {
    case OpKind::View:
        return name + " does nothing";
    case OpKind::AttentionBackward:
    case OpKind::AttentionBackwardByRow:
        return name + " needs results of its forward op";
    case OpKind::GroupedProduct:
        return name + " needs the values of its offsets";
    case OpKind::Copy:
        if (op == "aten::cat" || op == "aten::_chunk_cat")
            return {};
        return changesArguments(name);
    case OpKind::Fill:
    case OpKind::Adam:
    case OpKind::Lists:
    case OpKind::Message:
    case OpKind::Traffic:
        return changesArguments(name);
    default:
        return {};
    }
}

std::int64_t indexLimit(std::string_view op, const OpArguments& arguments)
{
    constexpr std::int64_t kSafe = 1; // index 0 exists in every tensor
    std::optional<std::int64_t> limit;
    if (op == "aten::embedding")
        limit = sizeOf(arguments, 0, 0);
    else if (op == "aten::index_select")
        limit = sizeOf(arguments, 0, numberAt(arguments, 1).value_or(0));
    else if (op == "aten::embedding_dense_backward" || op == "tilescope::embedding_backward")
        limit = numberAt(arguments, 2);
    else if (op == "aten::nll_loss_forward")
        limit = sizeOf(arguments, 0, -1);
    else if (op == "aten::nll_loss_backward")
        limit = sizeOf(arguments, 1, -1);
    else if (const OpRow* const row = findOp(op);
             row && (row->kind == OpKind::Map || row->kind == OpKind::Compare || row->kind == OpKind::Reduce))
        limit = 2;
    return std::max(kSafe, limit.value_or(kSafe));
}

} // namespace tilescope::analysis
