#include "core/config/utf8.h"

#include <algorithm>
#include <cstdint>

namespace tilescope::config {

namespace {

struct Character {
    std::uint32_t code = 0;
    std::size_t length = 0; ///< 0 if the bytes are ill-formed
};

Character characterAt(std::string_view bytes, std::size_t at)
{
    const auto byte = [&](std::size_t i) -> std::uint32_t {
        return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
    };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const std::uint32_t first = byte(0);
    if (first < 0x80)
        return {first, 1};
    if (first >= 0xc2 && first < 0xe0 && continues(1))
        return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    if (first >= 0xe0 && first < 0xf0 && continues(1) && continues(2)) {
        const std::uint32_t code = (first & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
        const bool surrogate = code >= 0xd800 && code < 0xe000;
        return {code, code < 0x800 || surrogate ? std::size_t{0} : 3};
    }
    if (first >= 0xf0 && first < 0xf5 && continues(1) && continues(2) && continues(3)) {
        const std::uint32_t code =
            (first & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
        return {code, code < 0x10000 || code > 0x10ffff ? std::size_t{0} : 4};
    }
    return {};
}

bool isControl(std::uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/// Characters that are invisible or change how the rest of a line is displayed.
bool isInvisible(std::uint32_t code)
{
    return isControl(code) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xad || code == 0x61c || code == 0xfeff ||
           (code >= 0xfff0 && code <= 0xfffb) || (code & 0xfffe) == 0xfffe ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

} // namespace

std::size_t firstNonText(std::string_view bytes)
{
    for (std::size_t at = 0; at < bytes.size();) {
        const Character character = characterAt(bytes, at);
        const bool endsLine = character.code == '\n' || bytes.substr(at, 2) == "\r\n";
        if (character.length == 0 || (isControl(character.code) && character.code != '\t' && !endsLine))
            return at;
        at += character.length;
    }
    return std::string_view::npos;
}

std::size_t characterCount(std::string_view text)
{
    std::size_t count = 0;
    for (const char byte : text)
        count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
    return count;
}

bool isPrintable(std::string_view text)
{
    for (std::size_t at = 0; at < text.size();) {
        const Character character = characterAt(text, at);
        if (character.length == 0 || isInvisible(character.code))
            return false;
        at += character.length;
    }
    return true;
}

std::string madePrintable(std::string_view text, std::size_t limit)
{
    std::string shown;
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size() && count < limit; ++count) {
        const Character character = characterAt(text, at);
        if (character.length == 0 || isInvisible(character.code))
            shown += '_';
        else
            shown += text.substr(at, character.length);
        at += std::max<std::size_t>(character.length, 1);
    }
    return shown;
}

} // namespace tilescope::config
