#include "core/exchange/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace tilescope::exchange {

namespace {

struct Decoded {
    std::uint32_t point = 0;
    std::size_t length = 1;
    bool valid = false;
};

/// The character at the beginning of `text` (not empty). Over-long forms, surrogates and what lies beyond
/// U+10FFFF are not valid UTF-8.
Decoded decode(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80)
        return {lead, 1, true};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
        return {lead, 1, false};
    std::uint32_t point = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xc0) != 0x80)
            return {lead, 1, false};
        point = (point << 6) | (byte & 0x3fU);
    }
    static constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
    const bool valid =
        point >= smallest[length] && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
    return valid ? Decoded{point, length, true} : Decoded{lead, 1, false};
}

std::string hex(std::uint32_t value, int digits)
{
    static constexpr std::string_view figures = "0123456789abcdef";
    std::string text;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        text += figures[(value >> shift) & 0xf];
    return text;
}

/// Marks that reorder or hide text: they could make a name read as another.
bool reordersText(std::uint32_t point)
{
    return (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0x061c;
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

std::string escapeForTerminal(std::string_view text)
{
    std::string escaped;
    escaped.reserve(text.size());
    while (!text.empty()) {
        const Decoded character = decode(text);
        if (!character.valid)
            escaped += "\\x" + hex(character.point, 2);
        else if (character.point == '\n')
            escaped += "\\n";
        else if (character.point == '\t')
            escaped += "\\t";
        else if (character.point == '\r')
            escaped += "\\r";
        else if (character.point < 0x20 || (character.point >= 0x7f && character.point < 0xa0))
            escaped += "\\x" + hex(character.point, 2);
        else if (reordersText(character.point))
            escaped += "\\u" + hex(character.point, 4);
        else
            escaped += text.substr(0, character.length);
        text.remove_prefix(character.length);
    }
    return escaped;
}

std::string validUtf8(std::string_view text)
{
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const Decoded character = decode(text);
        valid += character.valid ? text.substr(0, character.length) : std::string_view("\xef\xbf\xbd");
        text.remove_prefix(character.length);
    }
    return valid;
}

std::string jsonString(std::string_view text)
{
    std::string quoted = "\"";
    while (!text.empty()) {
        const Decoded character = decode(text);
        if (!character.valid)
            quoted += "\xef\xbf\xbd";
        else if (character.point == '"' || character.point == '\\')
            quoted += {'\\', static_cast<char>(character.point)};
        else if (character.point == '\n')
            quoted += "\\n";
        else if (character.point == '\t')
            quoted += "\\t";
        else if (character.point < 0x20 || character.point == 0x7f)
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

std::string csvField(std::string_view text)
{
    std::string field;
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
        field = '\'';
    field += text;
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
        const Decoded character = decode(text);
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
    const std::size_t tail = width - head - 1; // and after it
    std::string elided;
    std::size_t used = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const Decoded character = decode(rest);
        if (used + widthOf(character.point) > head)
            break;
        used += widthOf(character.point);
        elided += rest.substr(0, character.length);
        rest.remove_prefix(character.length);
    }
    elided += "\u2026";
    std::size_t skip = displayWidth(text);
    while (!text.empty() && skip > tail) {
        const Decoded character = decode(text);
        skip -= widthOf(character.point);
        text.remove_prefix(character.length);
    }
    return elided += text;
}

} // namespace tilescope::exchange
