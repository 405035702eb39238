#pragma once

#include <string>
#include <string_view>

namespace tilescope::report {

// Names come from files and are untrusted. Every function first escapes control characters, marks that
// reorder text and invalid UTF-8, then what its format requires.

std::string escapeHtml(std::string_view text); ///< for text and for attributes in double quotes
/// For running text. Letters that pdflatex does not support are written as U+4E2D.
std::string escapeLatex(std::string_view text);
std::string escapeMarkdown(std::string_view text); ///< for text and for table cells

// Commands for copying: every character is preserved.

std::string latexCode(std::string_view text);    ///< within \texttt
std::string markdownCode(std::string_view text); ///< a code span including its backticks; not for
                                                 ///< tables

} // namespace tilescope::report
