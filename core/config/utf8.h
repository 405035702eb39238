#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilescope::config {

/// Offset of the first byte that is not well-formed UTF-8 (overlong forms and surrogates count as ill-formed)
/// or is a control character other than tab and the ends of lines (LF, CR LF); npos where all is text.
std::size_t firstNonText(std::string_view bytes);

/// Number of code points of well-formed UTF-8.
std::size_t characterCount(std::string_view text);

/// Whether every character can be shown on a line: no controls, separators or direction marks.
bool isPrintable(std::string_view text);

/// The text with what isPrintable refuses, and ill-formed bytes, replaced by `_`, cut to `limit` characters.
std::string madePrintable(std::string_view text, std::size_t limit);

} // namespace tilescope::config
