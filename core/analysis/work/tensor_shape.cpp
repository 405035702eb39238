#include "core/analysis/work/tensor_shape.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>

namespace tilescope::analysis {

namespace {

struct ElementType {
    std::string_view word;
    int bytes;
    bool complex = false;
};

constexpr std::array kElementTypes{
    ElementType{"f32", 4},       ElementType{"bf16", 2},        ElementType{"f16", 2},
    ElementType{"f64", 8},       ElementType{"i64", 8},         ElementType{"i32", 4},
    ElementType{"i16", 2},       ElementType{"i8", 1},          ElementType{"u8", 1},
    ElementType{"bool", 1},      ElementType{"f8", 1},          ElementType{"c32", 4, true},
    ElementType{"c64", 8, true}, ElementType{"c128", 16, true},
};

const ElementType* find(std::string_view word)
{
    const auto* type = std::ranges::find(kElementTypes, word, &ElementType::word);
    return type == kElementTypes.end() ? nullptr : type;
}

/// Reads one number and moves past it.
std::optional<std::int64_t> takeNumber(std::string_view& text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0)
        return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

std::optional<TensorShape> takeShape(std::string_view& text)
{
    TensorShape shape;
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos)
        return {};
    if (open > 0) {
        if (const ElementType* type = find(text.substr(0, open))) {
            shape.elementBytes = type->bytes;
            shape.complex = type->complex;
        }
    }
    text.remove_prefix(open + 1);
    while (!text.empty() && text.front() != ']') {
        const auto size = takeNumber(text);
        if (!size)
            return {};
        shape.sizes.push_back(*size);
        while (!text.empty() && (text.front() == ',' || text.front() == ' '))
            text.remove_prefix(1);
    }
    if (text.empty())
        return {};
    text.remove_prefix(1);
    return shape;
}

} // namespace

int elementBytesOf(std::string_view dtype)
{
    const ElementType* type = find(dtype);
    return type ? type->bytes : 0;
}

std::int64_t TensorShape::elements() const
{
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::optional<std::vector<TensorShape>> parseShapes(std::string_view text)
{
    std::vector<TensorShape> shapes;
    while (!text.empty()) {
        std::optional<TensorShape> shape = takeShape(text);
        if (!shape)
            return {};
        shapes.push_back(std::move(*shape));
        while (!text.empty() && text.front() == ' ')
            text.remove_prefix(1);
    }
    return shapes;
}

std::string shapeText(std::span<const std::int64_t> sizes)
{
    std::string text = "[";
    for (const std::int64_t size : sizes)
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + "]";
}

} // namespace tilescope::analysis
