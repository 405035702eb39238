#pragma once

#include <string>
#include <string_view>

namespace tilescope::report {

// Names come from files, and files from anybody. Each format has its own way out of text; all of them first
// spell out control characters, marks that reorder text, and bytes that are not UTF-8.

std::string escapeHtml(std::string_view text); ///< for text and for attributes in double quotes
/// For running text: letters beyond Latin that pdflatex knows nothing of are spelled U+4E2D.
std::string escapeLatex(std::string_view text);
std::string escapeMarkdown(std::string_view text); ///< for text and for fields of a table
std::string typstString(std::string_view text);    ///< a string literal with its quotes, for `#"…"`

// Commands as they are typed: every character stays itself, so that they can be copied.

std::string latexCode(std::string_view text);    ///< within \texttt
std::string markdownCode(std::string_view text); ///< a code span with its backticks; not for tables

} // namespace tilescope::report
