#include "core/exchange/text.h"

#include "core/base/number_text.h"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
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

std::string validUtf8(std::string_view text)
{
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const DecodedCharacter character = decodeUtf8(text);
        valid += character.valid ? text.substr(0, character.length) : std::string_view("\xef\xbf\xbd");
        text.remove_prefix(character.length);
    }
    return valid;
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

/// `a=1`, `b=2 GiB` of `a=1 b=2 GiB`.
std::vector<std::string_view> pairsOf(std::string_view text)
{
    std::vector<std::string_view> pairs;
    std::size_t begin = 0;
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

} // namespace tilescope::exchange
