#include "core/config/key_text.h"

#include "core/base/number_text.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace tilescope::config {

namespace {

/// 50,257
std::string withThousands(std::int64_t number)
{
    std::string digits = std::to_string(std::abs(number));
    for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return (number < 0 ? "-" : "") + digits;
}

std::string shownValue(const std::string& key, const std::string& stored)
{
    const std::string text = valueText(key, stored);
    const auto whole = parseNumber<std::int64_t>(text);
    return whole ? withThousands(*whole) : text;
}

std::string listOf(const std::string& key, const std::vector<std::string>& stored)
{
    constexpr std::size_t kMostListed = 5;
    std::vector<std::pair<std::optional<double>, std::string>> values;
    for (const std::string& value : stored)
        if (const std::string text = shownValue(key, value);
            !text.empty() &&
            std::ranges::find(values, text, [](const auto& each) { return each.second; }) == values.end())
            values.emplace_back(parseNumber<double>(value), text);
    if (values.empty())
        return "not recorded";
    const bool areNumbers =
        std::ranges::all_of(values, [](const auto& each) { return each.first.has_value(); });
    if (areNumbers)
        std::ranges::sort(values);
    if (areNumbers && values.size() > kMostListed)
        return values.front().second + " to " + values.back().second;
    std::string list;
    for (std::size_t i = 0; i < values.size(); ++i)
        list += (i == 0 ? "" : i + 1 == values.size() ? " and " : ", ") + values[i].second;
    return list;
}

} // namespace

std::string filledText(const std::string& text,
                       const std::function<std::vector<std::string>(const std::string& key)>& valuesOf)
{
    std::string result;
    std::size_t at = 0;
    for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', at)) {
        const std::size_t close = text.find('}', open);
        if (close == std::string::npos)
            break;
        const std::string key = text.substr(open + 1, close - open - 1);
        result += text.substr(at, open - at) + listOf(key, valuesOf(key));
        at = close + 1;
    }
    return result + text.substr(at);
}

std::string aboutOf(const StudyPart& part)
{
    return filledText(part.about, [&part](const std::string& key) {
        std::vector<std::string> values;
        for (const ExperimentSpec& spec : part.specs) {
            const auto json = nlohmann::ordered_json::parse(toJson(spec), nullptr, false);
            if (const auto value = json.find(key); value != json.end() && !value->is_null())
                values.push_back(value->is_string() ? value->get<std::string>() : value->dump());
        }
        return values;
    });
}

} // namespace tilescope::config
