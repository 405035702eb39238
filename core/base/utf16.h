#pragma once

#include <bit>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

/// The order of the bytes of a text in UTF-16, told by its byte order mark or by the zero byte of its first character.
/// \return  none if the text is not in UTF-16
std::optional<std::endian> utf16OrderOf(std::string_view head);

/// Converts a text from UTF-16 to UTF-8, in pieces that may end anywhere. A byte order mark is kept. Surrogates without
/// their other half become U+FFFD; half a character at the end is dropped. One thread.
class Utf16Decoder {
public:
    explicit Utf16Decoder(std::endian order) : order_(order) {}

    /// Appends the characters that `bytes` completes.
    void decode(std::string_view bytes, std::string& to);

private:
    void add(char16_t unit, std::string& to);

    std::endian order_;
    std::optional<unsigned char> first_; ///< the first byte of a unit that is not complete
    char16_t high_ = 0;                  ///< a high surrogate that waits for its low one; 0: none
};

} // namespace tilescope
