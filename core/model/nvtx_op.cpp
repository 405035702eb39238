#include "core/model/nvtx_op.h"

#include "core/model/autograd_op.h"

#include <algorithm>
#include <charconv>

namespace tilescope {

namespace {

/// The value after `, key = ` up to the next key; none if the text has no such key.
std::optional<std::string_view> valueOf(std::string_view text, std::string_view key)
{
    const std::string marked = ", " + std::string(key) + " = ";
    const std::size_t at = text.find(marked);
    if (at == std::string_view::npos)
        return {};
    return text.substr(at + marked.size());
}

std::optional<std::int64_t> numberOf(std::optional<std::string_view> text)
{
    std::int64_t number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
        return {};
    return number;
}

} // namespace

std::string shapesOfSizes(std::string_view list)
{
    // Lists of tensors are nested lists; the innermost lists are the shapes. Inputs that are not tensors are
    // empty.
    std::string shapes;
    int depth = 0;
    std::size_t opened = std::string_view::npos;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i] == '[') {
            ++depth;
            opened = i;
        } else if (list[i] == ']') {
            if (opened != std::string_view::npos && i > opened + 1)
                shapes.append(shapes.empty() ? "" : " ").append(list.substr(opened, i - opened + 1));
            opened = std::string_view::npos;
            if (--depth <= 0)
                break;
        }
    }
    return shapes;
}

bool isBackwardOp(std::string_view name)
{
    if (isEvaluation(name))
        return true;
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    while (!name.empty() && isDigit(name.back()))
        name.remove_suffix(1);
    return name.ends_with("Backward") && name.find("::") == std::string_view::npos;
}

std::optional<NvtxOp> parseNvtxOp(std::string_view text)
{
    const auto sequence = numberOf(valueOf(text, "seq"));
    const bool isOp = sequence || numberOf(valueOf(text, "op_id")) || valueOf(text, "sizes");
    if (!isOp)
        return {};
    NvtxOp op{.name = text.substr(0, text.find(", "))};
    if (op.name.empty())
        return {};
    op.sequence = sequence.value_or(-1);
    if (const auto sizes = valueOf(text, "sizes"))
        op.shapes = shapesOfSizes(*sizes);
    op.isBackward = isBackwardOp(op.name);
    return op;
}

} // namespace tilescope
