#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// The first character of a text.
struct DecodedCharacter {
    std::uint32_t point = 0; ///< the code point, or the byte if it is not valid UTF-8
    std::size_t length = 1;  ///< in bytes
    bool valid = false;
};

/// Decodes the first character of a non-empty text. Overlong forms, surrogates and code points above U+10FFFF
/// are invalid.
DecodedCharacter decodeUtf8(std::string_view text);

/// The text with a replacement, by default U+FFFD, for each byte that is not UTF-8.
std::string validUtf8(std::string_view text, std::string_view replacement = "\xef\xbf\xbd");

/// Whether a character reorders or hides the text around it, so that a name may be misread.
bool reordersText(std::uint32_t point);

/// The number of printable ASCII characters at the beginning of a text: they need no decoding and no escape.
std::size_t plainPrefix(std::string_view text);

/// Escapes everything that a terminal may interpret: control characters as \n, \t or \x1b, marks that reorder
/// text as \u202e, invalid UTF-8 as \xff. Escaping twice changes nothing.
std::string escapeForTerminal(std::string_view text);

/// Equivalent JSON with \uXXXX for every character that a terminal may interpret.
std::string escapeJsonForTerminal(std::string_view json);

} // namespace tilescope
