#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tilescope {

/// The number that the whole text consists of, in any locale; none if it is not a number of this type. For
/// floating point this includes `inf` and `nan`.
template <class Number> std::optional<Number> parseNumber(std::string_view text)
{
    Number number{};
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

} // namespace tilescope
