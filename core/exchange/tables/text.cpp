#include "core/exchange/tables/text.h"

#include "core/base/number_text.h"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace tilescope::exchange {

namespace {

bool isCombining(std::uint32_t point)
{
    return (point >= 0x0300 && point <= 0x036f) || (point >= 0x1ab0 && point <= 0x1aff) ||
           (point >= 0x20d0 && point <= 0x20ff) || (point >= 0xfe00 && point <= 0xfe0f);
}

bool isWide(std::uint32_t point)
{
    return (point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
           (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
           (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xff60) ||
           (point >= 0xffe0 && point <= 0xffe6) || (point >= 0x1f300 && point <= 0x1faff) ||
           (point >= 0x20000 && point <= 0x3fffd);
}

std::size_t widthOf(std::uint32_t point)
{
    return isCombining(point) ? 0 : isWide(point) ? 2 : 1;
}

} // namespace

std::string joined(const std::vector<std::string>& words)
{
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string jsonString(std::string_view text)
{
    std::string quoted = "\"";
    while (!text.empty()) {
        const std::size_t plain = plainPrefix(text.substr(0, text.find_first_of("\"\\")));
        quoted += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const DecodedCharacter character = decodeUtf8(text);
        if (!character.valid)
            quoted += "\xef\xbf\xbd";
        else if (character.point == '"' || character.point == '\\')
            quoted += {'\\', static_cast<char>(character.point)};
        else if (character.point == '\n')
            quoted += "\\n";
        else if (character.point == '\t')
            quoted += "\\t";
        // Valid in JSON, but a terminal would interpret them.
        else if (character.point < 0x20 || (character.point >= 0x7f && character.point < 0xa0) ||
                 reordersText(character.point))
            quoted += fmt::format("\\u{:04x}", character.point);
        else
            quoted += text.substr(0, character.length);
        text.remove_prefix(character.length);
    }
    return quoted + '"';
}

std::string jsonNumber(double value)
{
    if (!std::isfinite(value))
        return "null";
    std::array<char, 32> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end};
}

namespace {

/// Keeps tabs and line ends, which are valid in a quoted field.
std::string escapeControls(std::string_view text)
{
    if (plainPrefix(text) == text.size())
        return std::string(text);
    std::string escaped;
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find_first_of("\t\n"), text.size());
        escaped += escapeForTerminal(text.substr(0, plain));
        if (plain < text.size())
            escaped += text[plain];
        text.remove_prefix(std::min(plain + 1, text.size()));
    }
    return escaped;
}

} // namespace

std::string csvField(std::string_view text)
{
    std::string field;
    // A spreadsheet takes these for the beginning of a formula; a number is none.
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos &&
        !parseNumber<double>(text))
        field = '\'';
    field += escapeControls(text);
    const auto needsQuotes = [](char character) {
        return character == ',' || character == '"' || character == '\r' || character == '\n';
    };
    if (std::ranges::none_of(field, needsQuotes))
        return field;
    std::string quoted = "\"";
    quoted.reserve(field.size() + field.size() / 8 + 2);
    std::string_view rest = field;
    for (std::size_t quote = rest.find('"'); quote != std::string_view::npos; quote = rest.find('"')) {
        quoted.append(rest.substr(0, quote)).append("\"\"");
        rest.remove_prefix(quote + 1);
    }
    return quoted.append(rest).append("\"");
}

std::size_t displayWidth(std::string_view text)
{
    std::size_t width = 0;
    while (!text.empty()) {
        if (const std::size_t plain = plainPrefix(text); plain > 0) {
            width += plain;
            text.remove_prefix(plain);
            continue;
        }
        const DecodedCharacter character = decodeUtf8(text);
        width += widthOf(character.point);
        text.remove_prefix(character.length);
    }
    return width;
}

namespace {

/// The beginning of a text, in at most `width` columns.
std::string_view beginningOf(std::string_view text, std::size_t width)
{
    std::size_t used = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const DecodedCharacter character = decodeUtf8(rest);
        used += widthOf(character.point);
        if (used > width)
            return text.substr(0, text.size() - rest.size());
        rest.remove_prefix(character.length);
    }
    return text;
}

bool isOfPairs(std::string_view text)
{
    return text.find('=') != std::string_view::npos;
}

/// `a=1`, `b=2 GiB` of `a=1 b=2 GiB`; `a`, `b` of `a, b`.
std::vector<std::string_view> pairsOf(std::string_view text)
{
    std::vector<std::string_view> pairs;
    std::size_t begin = 0;
    if (!isOfPairs(text)) {
        constexpr std::string_view kBetween = ", ";
        for (std::size_t end = text.find(kBetween); end != std::string_view::npos;
             end = text.find(kBetween, begin)) {
            pairs.push_back(text.substr(begin, end - begin));
            begin = end + kBetween.size();
        }
        pairs.push_back(text.substr(begin));
        return pairs;
    }
    for (std::size_t space = text.find(' '); space != std::string_view::npos;) {
        const std::size_t next = text.find(' ', space + 1);
        if (text.substr(space + 1, next - space - 1).find('=') != std::string_view::npos) {
            pairs.push_back(text.substr(begin, space - begin));
            begin = space + 1;
        }
        space = next;
    }
    pairs.push_back(text.substr(begin));
    return pairs;
}

} // namespace

std::string elideMiddle(std::string_view text, std::size_t width)
{
    if (displayWidth(text) <= width)
        return std::string(text);
    if (width == 0)
        return {};
    const std::size_t head = width / 2;        // columns before the ellipsis
    const std::size_t tail = width - head - 1; // columns after it
    std::string elided(beginningOf(text, head));
    elided += "\u2026";
    std::size_t skip = displayWidth(text);
    while (!text.empty() && skip > tail) {
        const DecodedCharacter character = decodeUtf8(text);
        skip -= widthOf(character.point);
        text.remove_prefix(character.length);
    }
    return elided += text;
}

std::string elidePairs(std::string_view text, std::size_t width)
{
    if (displayWidth(text) <= width)
        return std::string(text);
    const std::vector<std::string_view> pairs = pairsOf(text);
    for (std::size_t kept = pairs.size() - 1; kept > 0; --kept) {
        const std::size_t end = static_cast<std::size_t>(pairs[kept - 1].end() - text.begin());
        const std::string elided = fmt::format("{} \u2026 +{}", text.substr(0, end), pairs.size() - kept);
        if (displayWidth(elided) <= width)
            return elided;
    }
    const std::string count = pairs.size() > 1 ? fmt::format("\u2026 +{}", pairs.size() - 1) : "\u2026";
    if (displayWidth(count) > width)
        return std::string(width > 0 ? "\u2026" : "");
    return std::string(beginningOf(pairs.front(), width - displayWidth(count))) + count;
}

namespace {

std::string_view keyOf(std::string_view pair)
{
    return pair.substr(0, pair.find('='));
}

/// The pair with this key, from the key on; empty if there is none.
std::string_view pairOf(std::string_view text, std::string_view key)
{
    for (const std::string_view pair : pairsOf(text))
        if (keyOf(pair) == key)
            return pair;
    return {};
}

std::vector<std::string_view> keysOf(const std::vector<std::string>& texts)
{
    std::vector<std::string_view> keys;
    for (const std::string& text : texts)
        for (const std::string_view pair : pairsOf(text))
            if (std::ranges::find(keys, keyOf(pair)) == keys.end())
                keys.push_back(keyOf(pair));
    return keys;
}

/// The keys of all texts: first the one that tells most of them apart, then the one that does so together with those
/// before it; of equals in the order of their appearance.
std::vector<std::string_view> keysByDistinction(const std::vector<std::string>& texts)
{
    std::vector<std::string_view> left = keysOf(texts);
    std::vector<std::string_view> keys;
    std::vector<std::size_t> groups(
        texts.size()); // texts that the chosen keys do not tell apart have equal numbers
    while (!left.empty()) {
        std::vector<std::size_t> finest;
        std::size_t most = 0;
        auto best = left.begin();
        for (auto key = left.begin(); key != left.end(); ++key) {
            std::map<std::pair<std::size_t, std::string_view>, std::size_t> numbers;
            std::vector<std::size_t> refined;
            for (std::size_t i = 0; i < texts.size(); ++i)
                refined.push_back(
                    numbers.try_emplace({groups[i], pairOf(texts[i], *key)}, numbers.size()).first->second);
            if (numbers.size() > most) {
                most = numbers.size();
                best = key;
                finest = std::move(refined);
            }
        }
        keys.push_back(*best);
        groups = std::move(finest);
        left.erase(best);
    }
    return keys;
}

/// The pairs of a text with these keys, in the order of the text, and the number of the others.
std::string withKeys(const std::string& text, std::span<const std::string_view> keys)
{
    std::string kept;
    std::size_t left = 0;
    for (const std::string_view pair : pairsOf(text)) {
        if (std::ranges::find(keys, keyOf(pair)) == keys.end()) {
            ++left;
            continue;
        }
        kept += kept.empty() ? "" : " ";
        kept += pair;
    }
    return left == 0 ? kept : kept + fmt::format("{}\u2026 +{}", kept.empty() ? "" : " ", left);
}

} // namespace

std::vector<std::string> elidePairsAlike(const std::vector<std::string>& texts, std::size_t width)
{
    const auto fits = [width](const std::string& text) { return displayWidth(text) <= width; };
    if (std::ranges::all_of(texts, fits))
        return texts;
    if (std::ranges::none_of(texts, isOfPairs)) {
        std::vector<std::string> lists;
        for (const std::string& text : texts)
            lists.push_back(elidePairs(text, width));
        return lists;
    }
    const std::vector<std::string_view> keys = keysByDistinction(texts);
    std::vector<std::string> elided;
    for (std::size_t kept = keys.size(); kept-- > 1;) {
        elided.clear();
        for (const std::string& text : texts)
            elided.push_back(withKeys(text, std::span(keys).first(kept)));
        if (std::ranges::all_of(elided, fits))
            return elided;
    }
    elided.clear();
    for (const std::string& text : texts) {
        std::vector<std::string_view> pairs = pairsOf(text);
        const auto most = std::ranges::find(pairs, keys.front(), keyOf);
        if (most != pairs.end())
            std::rotate(pairs.begin(), most, std::next(most));
        std::string ordered;
        for (const std::string_view pair : pairs) {
            ordered += ordered.empty() ? "" : " ";
            ordered += pair;
        }
        elided.push_back(std::move(ordered));
    }
    return elided;
}

} // namespace tilescope::exchange
