#include "core/exchange/import/kineto/kineto_values.h"

#include "core/model/element_type.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// A decimal number as whole digits times a power of ten.
struct Decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};

constexpr int kMostDigits = 19; // that fit into 64 bits

/// Reads the digits of `text` from `at` on, ignoring those behind the 19th.
void takeDigits(std::string_view text, std::size_t& at, bool isFraction, int& count, Decimal& number)
{
    constexpr unsigned kBase = 10;
    for (; at < text.size() && isDigit(text[at]); ++at) {
        if (count < kMostDigits) {
            number.digits = number.digits * kBase + static_cast<unsigned>(text[at] - '0');
            number.exponent -= isFraction ? 1 : 0;
            count += number.digits != 0 ? 1 : 0;
        } else if (!isFraction) {
            ++number.exponent;
        }
    }
}

std::optional<Decimal> decimalOf(std::string_view text)
{
    Decimal number;
    std::size_t at = 0;
    int count = 0;
    if (text.empty() || !isDigit(text[0]))
        return {};
    takeDigits(text, at, false, count, number);
    if (at < text.size() && text[at] == '.') {
        ++at;
        takeDigits(text, at, true, count, number);
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        at += at < text.size() && text[at] == '+' ? 1 : 0;
        int exponent = 0;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
        constexpr int kMostExponent = 400;
        if (error != std::errc{} || exponent > kMostExponent || exponent < -kMostExponent)
            return {};
        number.exponent += exponent;
        at = static_cast<std::size_t>(end - text.data());
    }
    if (at != text.size())
        return {};
    return number;
}

template <class Number> std::optional<Number> wholeOf(std::string_view text)
{
    Number value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || text.empty())
        return {};
    if (end != last && (*end != '.' || !std::all_of(end + 1, last, [](char c) { return c == '0'; })))
        return {};
    return value;
}

/// Takes items of a JSON list one after the other, as text. Strings are taken without quotation marks and
/// with their escapes; lists as a whole.
class ListReader {
public:
    explicit ListReader(std::string_view list) : rest_(list)
    {
        skipSpace();
        if (!rest_.empty() && rest_.front() == '[')
            rest_.remove_prefix(1);
        else
            rest_ = {};
    }

    /// The next item; none at the end.
    std::optional<std::string_view> next()
    {
        skipSpace();
        if (rest_.empty() || rest_.front() == ']')
            return {};
        if (rest_.front() == '"') {
            const std::size_t end = stringEnd(0);
            const std::string_view item = rest_.substr(1, end - 1);
            return taken(item, end + 1);
        }
        if (rest_.front() != '[') {
            const std::size_t end = std::min(rest_.find_first_of(",]"), rest_.size());
            std::string_view item = rest_.substr(0, end);
            item = item.substr(0, item.find_last_not_of(" \n\r\t") + 1);
            return taken(item, end);
        }
        std::size_t at = 0;
        int depth = 0;
        for (; at < rest_.size(); ++at) {
            if (rest_[at] == '"')
                at = stringEnd(at);
            else if (rest_[at] == '[')
                ++depth;
            else if (rest_[at] == ']' && --depth == 0)
                break;
        }
        return taken(rest_.substr(0, at + 1), at + 1);
    }

private:
    std::size_t stringEnd(std::size_t quote) const
    {
        std::size_t at = quote + 1;
        while (at < rest_.size() && rest_[at] != '"')
            at += rest_[at] == '\\' ? 2 : 1;
        return std::min(at, rest_.size());
    }

    std::string_view taken(std::string_view item, std::size_t length)
    {
        rest_.remove_prefix(std::min(length, rest_.size()));
        skipSpace();
        if (!rest_.empty() && rest_.front() == ',')
            rest_.remove_prefix(1);
        return item;
    }

    void skipSpace()
    {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\r' ||
                                  rest_.front() == '\t'))
            rest_.remove_prefix(1);
    }

    std::string_view rest_;
};

/// Appends `word[sizes]`; false if `dims` is not a list of sizes.
bool appendShape(std::string_view dims, std::string_view word, std::string& shapes)
{
    const std::size_t before = shapes.size();
    shapes.append(shapes.empty() ? "" : " ").append(word).append("[");
    const char* separator = "";
    ListReader list(dims);
    while (const auto item = list.next()) {
        if (!unsignedOf(*item)) {
            shapes.resize(before);
            return false;
        }
        shapes.append(std::exchange(separator, ", ")).append(*item);
    }
    shapes.append("]");
    return true;
}

/// Appends `{strides}` to a tensor unless it is contiguous.
void appendStrides(std::string_view dims, std::string_view strides, std::string& arguments)
{
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> steps;
    for (auto [text, numbers] : {std::pair(dims, &sizes), std::pair(strides, &steps)}) {
        ListReader list(text);
        while (const auto item = list.next())
            numbers->push_back(unsignedOf(*item).value_or(0));
    }
    if (sizes.size() != steps.size())
        return;
    std::uint64_t contiguous = 1;
    bool isContiguous = true;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        isContiguous = isContiguous && (sizes[d] == 1 || steps[d] == contiguous);
        contiguous *= sizes[d];
    }
    if (isContiguous)
        return;
    arguments += '{';
    for (std::size_t d = 0; d < steps.size(); ++d)
        arguments.append(d > 0 ? ", " : "").append(std::to_string(steps[d]));
    arguments += '}';
}

/// Appends `=value`; `=none` for an argument without one. Words that cannot be a value become `=?`.
void appendLiteral(std::string_view value, std::string& arguments)
{
    constexpr std::size_t kLongest = 64;
    const auto isPart = [](char c) {
        return isDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == ',' ||
               c == ' ' || c == '[' || c == ']';
    };
    if (value.empty())
        value = "none";
    std::string text(value);
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c; });
    const bool isList = text.starts_with('[') && text.find(']') == text.size() - 1;
    const bool isWord = text.find_first_of("[], ") == std::string::npos;
    const bool isValue = text.size() <= kLongest && std::ranges::all_of(text, isPart) && (isList || isWord);
    arguments.append("=").append(isValue ? text : "?");
}

constexpr std::pair<std::string_view, std::string_view> kCollectives[] = {
    {"allreduce", "all_reduce"},
    {"allreduce_sparse", "all_reduce"},
    {"allreduce_coalesced", "all_reduce"},
    {"allgather", "all_gather"},
    {"_allgather_base", "all_gather"},
    {"allgather_coalesced", "all_gather"},
    {"allgather_into_tensor_coalesced", "all_gather"},
    {"reduce_scatter", "reduce_scatter"},
    {"_reduce_scatter_base", "reduce_scatter"},
    {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
    {"alltoall", "all_to_all"},
    {"all_to_allv", "all_to_all"},
    {"alltoall_base", "all_to_all"},
    {"all_to_all", "all_to_all"},
    {"_broadcast_oop", "broadcast"},
    {"_reduce_oop", "reduce"},
    {"wait", ""},
    {"init", ""},
    {"start_coalescing", ""},
    {"end_coalescing", ""},
};

} // namespace

std::optional<std::int64_t> nanosecondsOfMicroseconds(std::string_view text)
{
    if (text.starts_with('-')) {
        const auto positive =
            text.substr(1).starts_with('-') ? std::nullopt : nanosecondsOfMicroseconds(text.substr(1));
        return positive ? std::optional(-*positive) : std::nullopt;
    }
    const std::optional<Decimal> number = decimalOf(text);
    if (!number)
        return {};
    constexpr int kNanosecondsDigits = 3;
    constexpr std::uint64_t kBase = 10;
    std::uint64_t value = number->digits;
    int shift = number->exponent + kNanosecondsDigits;
    if (value == 0)
        return 0;
    for (; shift > 0; --shift) {
        if (value > static_cast<std::uint64_t>(kLatestNs) / kBase)
            return {};
        value *= kBase;
    }
    unsigned lastDigit = 0;
    for (; shift < 0 && value > 0; ++shift) {
        lastDigit = static_cast<unsigned>(value % kBase);
        value /= kBase;
    }
    constexpr unsigned kHalf = 5;
    value += shift == 0 && lastDigit >= kHalf ? 1 : 0;
    if (value >= static_cast<std::uint64_t>(kLatestNs))
        return {};
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> integerOf(std::string_view text)
{
    return wholeOf<std::int64_t>(text);
}

std::optional<std::uint64_t> unsignedOf(std::string_view text)
{
    return wholeOf<std::uint64_t>(text);
}

std::array<std::uint32_t, 3> sizesOf(std::string_view list)
{
    std::array<std::uint32_t, 3> sizes{};
    ListReader reader(list);
    for (std::uint32_t& size : sizes)
        if (const auto item = reader.next())
            size = wholeOf<std::uint32_t>(*item).value_or(0);
    return sizes;
}

std::string_view dtypeWord(std::string_view type)
{
    // Other spellings of the same types of C++.
    if (type == "short")
        type = "short int";
    else if (type == "long" || type == "long long")
        type = "long int";
    const ElementType* known = findElementType(&ElementType::cpp, type);
    if (!known)
        known = findElementType(&ElementType::torch, type); // of collectives
    if (known)
        return known->word;
    return type.find("Float8") != std::string_view::npos ? "f8" : "";
}

std::string_view collectiveWord(std::string_view name)
{
    const auto* found =
        std::ranges::find(kCollectives, name, &std::pair<std::string_view, std::string_view>::first);
    return found != std::end(kCollectives) ? found->second : name;
}

void shapesOf(std::string_view dims, std::string_view types, std::string& shapes)
{
    shapes.clear();
    ListReader inputs(dims);
    ListReader names(types);
    while (const auto input = inputs.next()) {
        const std::string_view type = names.next().value_or("");
        const std::string_view word = dtypeWord(type);
        // Numbers, lists of numbers and absent tensors have no sizes either.
        if (!input->starts_with('[') || (*input == "[]" && word.empty()))
            continue;
        if (appendShape(*input, word, shapes))
            continue;
        ListReader tensors(*input);
        while (const auto tensor = tensors.next())
            if (tensor->starts_with('['))
                appendShape(*tensor, "", shapes);
    }
}

void argumentsOf(std::string_view dims, std::string_view types, std::string_view strides,
                 std::string_view values, std::string& arguments)
{
    arguments.clear();
    ListReader inputs(dims);
    ListReader names(types);
    ListReader steps(strides);
    ListReader literals(values);
    std::size_t end = 0; // behind the last argument that is present
    while (const auto input = inputs.next()) {
        const std::string_view word = dtypeWord(names.next().value_or(""));
        const std::string_view step = steps.next().value_or("");
        const std::string_view literal = literals.next().value_or("");
        const std::string_view separator = arguments.empty() ? "" : " ";
        if (!input->starts_with('[') || (*input == "[]" && word.empty())) {
            appendLiteral(literal, arguments.append(separator));
            end = literal.empty() ? end : arguments.size();
            continue;
        }
        if (appendShape(*input, word, arguments)) {
            appendStrides(*input, step, arguments);
        } else {
            arguments.append(separator).append("(");
            const std::size_t first = arguments.size();
            ListReader tensors(*input);
            std::string list;
            while (const auto tensor = tensors.next())
                if (tensor->starts_with('['))
                    appendShape(*tensor, "", list);
            arguments.insert(first, list).append(")");
        }
        end = arguments.size();
    }
    arguments.resize(end);
}

} // namespace tilescope::exchange
