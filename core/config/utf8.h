#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilescope::config {

/// Offset of the first byte that is not well-formed UTF-8 (overlong forms and surrogates are ill-formed) or
/// is a control character other than tab, LF and CR LF; npos if there is none.
std::size_t firstNonText(std::string_view bytes);

/// Number of code points of well-formed UTF-8.
std::size_t characterCount(std::string_view text);

/// Whether every character can be printed on one line: no controls, separators or direction marks.
bool isPrintable(std::string_view text);

/// The text cut to `limit` characters. Ill-formed bytes and characters that isPrintable() rejects become `_`.
std::string madePrintable(std::string_view text, std::size_t limit);

} // namespace tilescope::config
