#include "core/analysis/work/tensor_shape.h"

#include "core/model/element_type.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

namespace tilescope::analysis {

namespace {

/// Removes one number from the front of the text and returns it.
std::optional<std::int64_t> takeNumber(std::string_view& text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0)
        return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// Removes numbers such as `4, 128]` up to `close` from the front of the text and returns them.
std::optional<std::vector<std::int64_t>> takeNumbers(std::string_view& text, char close)
{
    std::vector<std::int64_t> numbers;
    while (!text.empty() && text.front() != close) {
        const auto number = takeNumber(text);
        if (!number)
            return {};
        numbers.push_back(*number);
        while (!text.empty() && (text.front() == ',' || text.front() == ' '))
            text.remove_prefix(1);
    }
    if (text.empty())
        return {};
    text.remove_prefix(1);
    return numbers;
}

/// Removes `[1, 1]` or a word without spaces from the front of the text and returns it.
std::string_view takeLiteral(std::string_view& text)
{
    const std::size_t end = text.starts_with('[') ? text.find(']') : text.find_first_of(" )");
    const std::size_t length =
        end == std::string_view::npos ? text.size() : end + (text.starts_with('[') ? 1 : 0);
    const std::string_view literal = text.substr(0, length);
    text.remove_prefix(length);
    return literal;
}

class ArgumentParser {
public:
    explicit ArgumentParser(std::string_view text) : text_(text) {}

    std::optional<OpArguments> parse()
    {
        skipSpaces();
        while (!text_.empty()) {
            if (!takeOne())
                return {};
            skipSpaces();
        }
        return inList_ ? std::nullopt : std::optional(std::move(arguments_));
    }

private:
    using Kind = OpArgument::Kind;

    bool takeOne()
    {
        const char first = text_.front();
        if (first == '(' || first == ')') {
            if (inList_ == (first == '('))
                return false;
            text_.remove_prefix(1);
            inList_ = first == '(';
            if (inList_)
                arguments_.list.push_back({.kind = Kind::List, .first = arguments_.tensors.size()});
            return true;
        }
        if (first == '=') {
            text_.remove_prefix(1);
            arguments_.hasLiterals = true;
            arguments_.list.push_back({.kind = Kind::Literal, .literal = takeLiteral(text_)});
            return !inList_;
        }
        if (!takeTensor())
            return false;
        if (inList_)
            ++arguments_.list.back().count;
        else
            arguments_.list.push_back({.first = arguments_.tensors.size() - 1, .count = 1});
        return true;
    }

    bool takeTensor()
    {
        TensorShape shape;
        const std::size_t open = text_.find('[');
        if (open == std::string_view::npos)
            return false;
        const std::string_view type = text_.substr(0, open);
        if (const ElementType* known = findElementType(&ElementType::word, type)) {
            shape.elementBytes = known->bytes;
            shape.complex = known->isComplex;
        }
        text_.remove_prefix(open + 1);
        auto sizes = takeNumbers(text_, ']');
        if (!sizes)
            return false;
        shape.sizes = std::move(*sizes);
        if (text_.starts_with('{')) {
            text_.remove_prefix(1);
            auto strides = takeNumbers(text_, '}');
            if (!strides || strides->size() != shape.sizes.size())
                return false;
            shape.strides = std::move(*strides);
        }
        arguments_.tensors.push_back(std::move(shape));
        arguments_.types.push_back(type);
        return true;
    }

    void skipSpaces()
    {
        while (text_.starts_with(' '))
            text_.remove_prefix(1);
    }

    std::string_view text_;
    OpArguments arguments_;
    bool inList_ = false;
};

} // namespace

int elementBytesOf(std::string_view dtype)
{
    const ElementType* type = findElementType(&ElementType::word, dtype);
    return type ? type->bytes : 0;
}

std::int64_t TensorShape::elements() const
{
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::optional<std::string_view> OpArguments::literal(std::size_t position) const
{
    if (!hasLiterals || position >= list.size() || list[position].kind != OpArgument::Kind::Literal)
        return {};
    return list[position].literal;
}

std::size_t OpArguments::lists() const
{
    return static_cast<std::size_t>(
        std::ranges::count(list, OpArgument::Kind::List, [](const OpArgument& each) { return each.kind; }));
}

std::optional<OpArguments> parseArguments(std::string_view text)
{
    return ArgumentParser(text).parse();
}

std::optional<std::vector<TensorShape>> parseShapes(std::string_view text)
{
    std::optional<OpArguments> arguments = parseArguments(text);
    return arguments ? std::optional(std::move(arguments->tensors)) : std::nullopt;
}

std::string tensorsText(std::string_view text)
{
    const std::optional<OpArguments> arguments = parseArguments(text);
    if (!arguments)
        return std::string(text);
    std::string tensors;
    for (std::size_t i = 0; i < arguments->tensors.size(); ++i)
        tensors.append(tensors.empty() ? "" : " ")
            .append(arguments->types[i])
            .append(shapeText(arguments->tensors[i].sizes));
    return tensors;
}

std::string shapeText(std::span<const std::int64_t> sizes)
{
    std::string text = "[";
    for (const std::int64_t size : sizes)
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + "]";
}

} // namespace tilescope::analysis
