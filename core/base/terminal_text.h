#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// The character that a text begins with.
struct DecodedCharacter {
    std::uint32_t point = 0; ///< the code point, or the byte where it is not valid UTF-8
    std::size_t length = 1;  ///< in bytes
    bool valid = false;
};

/// Decodes the first character of a text that is not empty. Overlong forms, surrogates and code points beyond
/// U+10FFFF are not valid.
DecodedCharacter decodeUtf8(std::string_view text);

/// Whether a character changes the order of the text around it, or hides it: a name with it may read as
/// another.
bool reordersText(std::uint32_t point);

/// The text with everything that a terminal might obey spelled out: control characters as \n, \t or \x1b,
/// marks that reorder text as \u202e, bytes that are not UTF-8 as \xff. Escaping twice changes nothing.
std::string escapeForTerminal(std::string_view text);

/// A JSON text of the same meaning with \uXXXX for what a terminal might obey.
std::string escapeJsonForTerminal(std::string_view json);

} // namespace tilescope
