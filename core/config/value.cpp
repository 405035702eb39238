#include "core/config/value.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/config/field.h"
#include "core/config/utf8.h"
#include "core/config/wording.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace tilescope::config {

namespace {

constexpr int kMostGpus = 1'024;

[[noreturn]] void refuse(const KeyInfo& key, const std::string& what, std::string hint = {})
{
    if (!hint.empty())
        hint += "; ";
    throw Error{.what = std::string(key.name) + " " + what, .remedy = hint + "allowed: " + key.allowed()};
}

bool isDigits(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The plain form of an integer in another notation (1_000, 1e3, 64.0, +5, 007); empty for other text.
std::string plainInteger(std::string_view text)
{
    std::string digits;
    for (const char c : text)
        if (c != '_' && c != ',' && c != '\'')
            digits.push_back(c);
    if (digits.starts_with('+'))
        digits.erase(0, 1);
    const auto number = parseNumber<double>(digits);
    if (!number || !std::isfinite(*number) || *number != std::floor(*number) || std::abs(*number) > 1e15)
        return {};
    return std::to_string(static_cast<std::int64_t>(*number));
}

void requireRange(const KeyInfo& key, double number, std::string_view written)
{
    if (number < key.minimum || number > key.maximum)
        refuse(key, "is " + std::string(written) + ", out of range");
}

/// \param number  none if the value does not fit
Value checkedInteger(const KeyInfo& key, std::optional<std::int64_t> number, std::string_view text)
{
    if (!number)
        refuse(key, "is " + shown(text) + ", out of range");
    requireRange(key, static_cast<double>(*number), text);
    return *number;
}

[[noreturn]] void refuseFraction(const KeyInfo& key, std::string_view text)
{
    const std::string plain = plainInteger(text);
    refuse(key, "takes an integer, not " + shown(text), plain.empty() ? "" : "write " + plain);
}

Value parseInteger(const KeyInfo& key, const SpecValue& written)
{
    const std::string_view text = written.text;
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    if (!isDigits(digits) || (digits.size() > 1 && digits.front() == '0'))
        refuseFraction(key, text);
    if (written.quoted)
        refuse(key, "takes an integer, not the text " + shown(text), "remove the quotes");
    return checkedInteger(key, parseNumber<std::int64_t>(text), text);
}

Value parseReal(const KeyInfo& key, const SpecValue& written)
{
    const auto number = parseNumber<double>(written.text);
    if (!number || !std::isfinite(*number))
        refuse(key, "takes a number, not " + shown(written.text));
    if (written.quoted)
        refuse(key, "takes a number, not the text " + shown(written.text), "remove the quotes");
    requireRange(key, *number, written.text);
    return *number;
}

Value parseBoolean(const KeyInfo& key, const SpecValue& written)
{
    if (!written.quoted && written.text == "true")
        return true;
    if (!written.quoted && written.text == "false")
        return false;
    std::string lower = written.text;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::array yes{"true", "yes", "on", "y", "1"};
    constexpr std::array no{"false", "no", "off", "n", "0"};
    std::string hint;
    if (std::ranges::find(yes, lower) != yes.end())
        hint = "write true";
    else if (std::ranges::find(no, lower) != no.end())
        hint = "write false";
    refuse(key, "takes true or false, not " + shown(written.text), hint);
}

[[noreturn]] void refuseWord(const KeyInfo& key, const std::string& text, const std::string& kind)
{
    throw Error{.what = kind + " " + shown(text),
                .remedy = question(text, key.choices) + "allowed: " + key.allowed()};
}

Value checkedChoice(const KeyInfo& key, const std::string& text)
{
    if (std::ranges::find(key.choices, text) == key.choices.end())
        refuseWord(key, text, "unknown " + std::string(key.name));
    return text;
}

Value checkedDevice(const KeyInfo& key, const std::string& text)
{
    if (text.starts_with("cuda:")) {
        const std::string_view index = std::string_view(text).substr(5);
        const auto number = isDigits(index) ? parseNumber<int>(index) : std::nullopt;
        if (!number || *number >= kMostGpus || std::to_string(*number) != index)
            refuse(key, "has no GPU number in " + shown(text), "N counts from 0");
        return text;
    }
    return checkedChoice(key, text);
}

struct SizeUnit {
    std::string_view name;
    double bytes;
};
constexpr std::array kUnits{
    SizeUnit{"B", 1},           SizeUnit{"kB", 1e3},           SizeUnit{"MB", 1e6},
    SizeUnit{"GB", 1e9},        SizeUnit{"TB", 1e12},          SizeUnit{"KiB", 1024.0},
    SizeUnit{"MiB", 1048576.0}, SizeUnit{"GiB", 1073741824.0}, SizeUnit{"TiB", 1099511627776.0}};

Value checkedSize(const KeyInfo& key, double bytes, std::string_view text)
{
    if (bytes < key.minimum || bytes > key.maximum)
        throw Error{.what = std::string(key.name) + " is " + shown(text) + ", out of range",
                    .remedy = "allowed: 1 MiB to 1,048,576 TiB"};
    return static_cast<std::int64_t>(bytes);
}

Value parseSize(const KeyInfo& key, const SpecValue& written)
{
    const std::string_view text = written.text;
    double amount = 0;
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
    if (problem != std::errc() || !std::isfinite(amount))
        refuseWord(key, written.text, std::string(key.name) + " takes an amount of memory, not");
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    if (unit.empty())
        refuse(key, "has no unit in " + shown(text), "write " + std::string(text) + " B for bytes");
    const auto found = std::ranges::find(kUnits, unit, &SizeUnit::name);
    if (found == kUnits.end()) {
        std::vector<std::string> names;
        for (const SizeUnit& known : kUnits)
            names.emplace_back(known.name);
        throw Error{.what = std::string(key.name) + " has the unknown unit " + shown(unit),
                    .remedy = question(unit, names) + "units: " + joined(names)};
    }
    return checkedSize(key, std::floor(amount * found->bytes), text);
}

Value checkedCompile(const KeyInfo& key, const std::string& text)
{
    if (!text.starts_with("package:"))
        return checkedChoice(key, text);
    if (!text.ends_with(".pt2") || text.size() <= std::string_view("package:.pt2").size())
        refuse(key, "names no package in " + shown(text), "packages of AOTInductor end in .pt2");
    if (!isPrintable(text))
        refuse(key, "has characters that cannot be shown in " + shown(text));
    return text;
}

Value checkedCheckpointing(const KeyInfo& key, const std::string& text)
{
    using Kind = Checkpointing::Kind;
    const std::size_t colon = text.find(':');
    const std::string_view word = std::string_view(text).substr(0, colon);
    if (colon == std::string::npos || (word != "block" && word != "nested"))
        return checkedChoice(key, text);
    const auto number = [&](std::string_view digits, const char* letter, double least) {
        const auto value = isDigits(digits) ? parseNumber<int>(digits) : std::nullopt;
        if (!value || *value < least || *value > key.maximum)
            refuse(key, std::string("has no ") + letter + " from " + groupedText(least) + " to " +
                            groupedText(key.maximum) + " in " + shown(text));
        return *value;
    };
    const std::string_view numbers = std::string_view(text).substr(colon + 1);
    if (word == "nested")
        return toText(Checkpointing{Kind::Nested, number(numbers, "K", kNestedSegments)});
    const std::size_t plus = numbers.find('+');
    Checkpointing block{Kind::Block, number(numbers.substr(0, plus), "K", key.minimum)};
    if (plus != std::string_view::npos)
        block.kept = number(numbers.substr(plus + 1), "N", 1);
    return toText(block);
}

Value checkedText(const KeyInfo& key, const std::string& text)
{
    const auto length = static_cast<double>(characterCount(text));
    if (length < key.minimum || length > key.maximum)
        refuse(key, "has " + groupedText(length) + " characters");
    if (!isPrintable(text))
        refuse(key, "has characters that cannot be shown in " + shown(text));
    if (text.find_first_of("/\\") != std::string::npos || text == "." || text == "..")
        refuse(key, shown(text) + " looks like a path", "name the file with -o");
    return text;
}

Value checkedList(const KeyInfo& key, const std::vector<std::string>& items)
{
    if (static_cast<double>(items.size()) > key.maximum)
        refuse(key, "has " + groupedText(static_cast<double>(items.size())) + " entries");
    for (auto item = items.begin(); item != items.end(); ++item) {
        if (item->empty() || item->size() > 200 || !isPrintable(*item))
            refuse(key, "has an entry that is not a name");
        if (std::find(items.begin(), item, *item) != item)
            refuse(key, "names " + shown(*item) + " twice");
    }
    return items;
}

Value parseList(const KeyInfo& key, const SpecValue& written)
{
    if (written.kind != SpecValue::Kind::List)
        return checkedList(key, {written.text});
    std::vector<std::string> items;
    for (const SpecValue& item : written.items)
        items.push_back(item.text); // empty for a list or map, which is rejected later
    return checkedList(key, items);
}

bool mayBeAuto(const KeyInfo& key)
{
    return (key.type == ValueType::Integer || key.type == ValueType::Size) && !key.choices.empty();
}

Value checkedWord(const KeyInfo& key, const std::string& text)
{
    switch (key.type) {
    case ValueType::Text:
        return checkedText(key, text);
    case ValueType::Device:
        return checkedDevice(key, text);
    case ValueType::Compile:
        return checkedCompile(key, text);
    case ValueType::Checkpointing:
        return checkedCheckpointing(key, text);
    default:
        return checkedChoice(key, text);
    }
}

/// \pre the value is a number
Value checkedNumber(const KeyInfo& key, const nlohmann::ordered_json& json)
{
    const std::string text = json.dump();
    if (key.type == ValueType::Size)
        return checkedSize(key, std::floor(json.get<double>()), text);
    if (key.type != ValueType::Integer) {
        requireRange(key, json.get<double>(), text);
        return json.get<double>();
    }
    if (!json.is_number_integer())
        refuseFraction(key, text);
    return checkedInteger(key, parseNumber<std::int64_t>(text), text);
}

} // namespace

Value parseValue(const KeyInfo& key, const SpecValue& written)
{
    if (written.kind == SpecValue::Kind::Missing)
        refuse(key, "has no value");
    if (key.type == ValueType::List)
        return parseList(key, written);
    if (written.kind == SpecValue::Kind::List)
        refuse(key, "takes one value, not a list", key.sweepable ? "to sweep it, write it under sweep" : "");
    if (written.kind == SpecValue::Kind::Map)
        refuse(key, "takes one value, not a map");
    if (mayBeAuto(key) && written.text == "auto")
        return Auto{};
    switch (key.type) {
    case ValueType::Integer:
        return parseInteger(key, written);
    case ValueType::Real:
    case ValueType::Duration:
        return parseReal(key, written);
    case ValueType::Boolean:
        return parseBoolean(key, written);
    case ValueType::Size:
        return parseSize(key, written);
    default:
        return checkedWord(key, written.text);
    }
}

Value parseValue(const KeyInfo& key, const nlohmann::ordered_json& json)
{
    switch (key.type) {
    case ValueType::Integer:
    case ValueType::Real:
    case ValueType::Duration:
    case ValueType::Size:
        if (json.is_number())
            return checkedNumber(key, json);
        if (mayBeAuto(key) && json == "auto")
            return Auto{};
        break;
    case ValueType::Boolean:
        if (json.is_boolean())
            return json.get<bool>();
        break;
    case ValueType::List:
        if (!json.is_array())
            break;
        if (!std::ranges::all_of(json, [](const auto& item) { return item.is_string(); }))
            refuse(key, "takes a list of texts");
        return checkedList(key, json.get<std::vector<std::string>>());
    default:
        if (json.is_string())
            return checkedWord(key, json.get<std::string>());
    }
    refuse(key, std::string("has the wrong type (") + json.type_name() + ")");
}

std::string numberText(double number)
{
    std::array<char, 32> text;
    const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), number);
    return std::string(text.data(), end);
}

std::string groupedText(double number)
{
    if (number >= 9.2e18)
        return "2^63-1";
    if (number != std::floor(number) || std::abs(number) >= 1e15)
        return numberText(number);
    std::string digits = std::to_string(static_cast<std::int64_t>(number));
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string jsonText(const Value& value)
{
    struct Writer {
        std::string operator()(Auto) const { return "\"auto\""; }
        std::string operator()(bool truth) const { return truth ? "true" : "false"; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return numberText(number); }
        std::string operator()(const std::string& text) const
        {
            return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        }
        std::string operator()(const std::vector<std::string>& list) const
        {
            std::vector<std::string> items;
            for (const std::string& item : list)
                items.push_back((*this)(item));
            return fmt::format("[{}]", fmt::join(items, ","));
        }
    };
    return std::visit(Writer{}, value);
}

DeviceRequest deviceFromText(std::string_view text)
{
    if (text == "cpu")
        return {.kind = DeviceRequest::Kind::Cpu};
    if (text == "auto")
        return {};
    DeviceRequest device{.kind = DeviceRequest::Kind::Cuda};
    if (text != "cuda")
        device.index = parseNumber<int>(text.substr(std::string_view("cuda:").size()));
    return device;
}

CompileRequest compileFromText(std::string_view text)
{
    if (text == "none")
        return {};
    if (text == "graph")
        return {.kind = CompileRequest::Kind::Graph};
    if (text == "fused")
        return {.kind = CompileRequest::Kind::Fused};
    if (text == "inductor")
        return {.kind = CompileRequest::Kind::Inductor};
    return {.kind = CompileRequest::Kind::Package,
            .package = std::string(text.substr(std::string_view("package:").size()))};
}

Checkpointing checkpointingFromText(std::string_view text)
{
    if (text == "none")
        return {};
    if (text == "attention")
        return {.kind = Checkpointing::Kind::Attention};
    Checkpointing checkpointing{.kind = Checkpointing::Kind::Block};
    if (text.starts_with("nested"))
        checkpointing = {.kind = Checkpointing::Kind::Nested, .every = kNestedSegments};
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return checkpointing;
    const std::string_view numbers = text.substr(colon + 1);
    const std::size_t plus = numbers.find('+');
    checkpointing.every = parseNumber<int>(numbers.substr(0, plus)).value();
    if (plus != std::string_view::npos)
        checkpointing.kept = parseNumber<int>(numbers.substr(plus + 1)).value();
    return checkpointing;
}

} // namespace tilescope::config
