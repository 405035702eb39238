#include "core/base/terminal_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tilescope {

namespace {

/// At least `digits` digits.
std::string hex(std::uint32_t value, std::size_t digits)
{
    std::array<char, 8> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, 16);
    const std::string figures(text.data(), end);
    return std::string(digits - std::min(digits, figures.size()), '0') + figures;
}

} // namespace

DecodedCharacter decodeUtf8(std::string_view text)
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
    return valid ? DecodedCharacter{point, length, true} : DecodedCharacter{lead, 1, false};
}

bool reordersText(std::uint32_t point)
{
    return (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0x061c;
}

std::size_t plainPrefix(std::string_view text)
{
    const auto isPlain = [](char character) { return character >= 0x20 && character < 0x7f; };
    return static_cast<std::size_t>(std::ranges::find_if_not(text, isPlain) - text.begin());
}

std::string escapeJsonForTerminal(std::string_view json)
{
    std::string escaped;
    escaped.reserve(json.size());
    while (!json.empty()) {
        if (const std::size_t plain = plainPrefix(json); plain > 0) {
            escaped += json.substr(0, plain);
            json.remove_prefix(plain);
            continue;
        }
        const DecodedCharacter character = decodeUtf8(json);
        // Valid JSON contains no control characters below a space except white space between values.
        const bool obeyed =
            (character.point >= 0x7f && character.point < 0xa0) || reordersText(character.point);
        if (character.valid && obeyed)
            escaped += "\\u" + hex(character.point, 4);
        else
            escaped += json.substr(0, character.length);
        json.remove_prefix(character.length);
    }
    return escaped;
}

std::string escapeForTerminal(std::string_view text)
{
    std::string escaped;
    escaped.reserve(text.size());
    while (!text.empty()) {
        if (const std::size_t plain = plainPrefix(text); plain > 0) {
            escaped += text.substr(0, plain);
            text.remove_prefix(plain);
            continue;
        }
        const DecodedCharacter character = decodeUtf8(text);
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

std::string validUtf8(std::string_view text, std::string_view replacement)
{
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const DecodedCharacter character = decodeUtf8(text);
        valid += character.valid ? text.substr(0, character.length) : replacement;
        text.remove_prefix(character.length);
    }
    return valid;
}

} // namespace tilescope
