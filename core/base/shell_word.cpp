#include "core/base/shell_word.h"

#include <algorithm>

namespace tilescope {

namespace {

bool isControl(char character)
{
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x20 || byte == 0x7f;
}

char octal(unsigned digit)
{
    return static_cast<char>('0' + digit);
}

/// $'…' can express every byte.
std::string spelled(std::string_view text)
{
    std::string word = "$'";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        // Always three octal digits, so that a following digit is not read as part of the number.
        if (isControl(character) || byte >= 0x80)
            word.append({'\\', octal(byte >> 6U), octal(byte >> 3U & 7U), octal(byte & 7U)});
        else if (character == '\'' || character == '\\')
            word.append("\\").append(1, character);
        else
            word += character;
    }
    return word + "'";
}

} // namespace

std::string shellWord(std::string_view text)
{
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
        return std::string(text);
    if (std::ranges::any_of(text, isControl))
        return spelled(text);
    std::string word = "'";
    for (const char character : text)
        word += character == '\'' ? std::string("'\\''") : std::string(1, character);
    return word + "'";
}

std::string shellPath(const std::filesystem::path& path)
{
    const std::string text = path.string();
    return shellWord(text.starts_with('-') ? "./" + text : text);
}

} // namespace tilescope
