#include "core/exchange/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace tilescope::exchange {

namespace {

std::string hex(std::uint32_t value, int digits)
{
    static constexpr std::string_view figures = "0123456789abcdef";
    std::string text;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        text += figures[(value >> shift) & 0xf];
    return text;
}

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
            quoted += "\\u" + hex(character.point, 4);
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
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
        field = '\'';
    field += escapeControls(text);
    if (field.find_first_of(",\"\r\n") == std::string::npos)
        return field;
    std::string quoted = "\"";
    for (const char character : field) {
        if (character == '"')
            quoted += '"';
        quoted += character;
    }
    return quoted + '"';
}

std::size_t displayWidth(std::string_view text)
{
    std::size_t width = 0;
    while (!text.empty()) {
        const DecodedCharacter character = decodeUtf8(text);
        width += widthOf(character.point);
        text.remove_prefix(character.length);
    }
    return width;
}

std::string elideMiddle(std::string_view text, std::size_t width)
{
    if (displayWidth(text) <= width)
        return std::string(text);
    if (width == 0)
        return {};
    const std::size_t head = width / 2;        // columns before the ellipsis
    const std::size_t tail = width - head - 1; // columns after it
    std::string elided;
    std::size_t used = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const DecodedCharacter character = decodeUtf8(rest);
        if (used + widthOf(character.point) > head)
            break;
        used += widthOf(character.point);
        elided += rest.substr(0, character.length);
        rest.remove_prefix(character.length);
    }
    elided += "\u2026";
    std::size_t skip = displayWidth(text);
    while (!text.empty() && skip > tail) {
        const DecodedCharacter character = decodeUtf8(text);
        skip -= widthOf(character.point);
        text.remove_prefix(character.length);
    }
    return elided += text;
}

} // namespace tilescope::exchange
