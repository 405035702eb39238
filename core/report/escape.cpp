#include "core/report/escape.h"

#include "core/exchange/tables/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

namespace tilescope::report {

namespace {

/// Replaces the characters that are keys of `replacements`.
std::string replaced(std::string_view text, const std::map<char, std::string_view>& replacements)
{
    std::string out;
    out.reserve(text.size() + 8);
    for (const char character : text) {
        const auto found = replacements.find(character);
        if (found == replacements.end())
            out += character;
        else
            out += found->second;
    }
    return out;
}

/// Removes and returns the first code point of valid UTF-8.
char32_t takeCodePoint(std::string_view& text)
{
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length && i < text.size(); ++i)
        point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    text.remove_prefix(std::min(length, text.size()));
    return point;
}

std::string latexOf(char32_t point, std::string_view bytes)
{
    static const std::map<char32_t, std::string_view> known{{U'±', "\\ensuremath{\\pm}"},
                                                            {U'×', "\\ensuremath{\\times}"},
                                                            {U'²', "\\ensuremath{^2}"},
                                                            {U'³', "\\ensuremath{^3}"},
                                                            {U'µ', "\\ensuremath{\\mu}"},
                                                            {U'–', "--"},
                                                            {U'—', "---"},
                                                            {U'…', "\\ldots{}"},
                                                            {U'‘', "`"},
                                                            {U'’', "'"},
                                                            {U'“', "``"},
                                                            {U'”', "''"},
                                                            {U'≤', "\\ensuremath{\\le}"},
                                                            {U'≥', "\\ensuremath{\\ge}"},
                                                            {U'°', "\\ensuremath{^\\circ}"},
                                                            {U'·', "\\ensuremath{\\cdot}"},
                                                            {U'\u2009', "\\,"},
                                                            {U'\u00a0', "~"}};
    if (const auto found = known.find(point); found != known.end())
        return std::string(found->second);
    const bool latin = point >= 0xc0 && point <= 0x17f && point != 0xd7 && point != 0xf7;
    return latin ? std::string(bytes) : fmt::format("U+{:04X}", static_cast<std::uint32_t>(point));
}

} // namespace

std::string escapeHtml(std::string_view text)
{
    return replaced(exchange::escapeForTerminal(text),
                    {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string escapeLatex(std::string_view text)
{
    static const std::map<char, std::string_view> special{{'\\', "\\textbackslash{}"},
                                                          {'{', "\\{"},
                                                          {'}', "\\}"},
                                                          {'$', "\\$"},
                                                          {'&', "\\&"},
                                                          {'#', "\\#"},
                                                          {'^', "\\textasciicircum{}"},
                                                          {'_', "\\_"},
                                                          {'~', "\\textasciitilde{}"},
                                                          {'%', "\\%"},
                                                          {'<', "\\textless{}"},
                                                          {'>', "\\textgreater{}"},
                                                          {'|', "\\textbar{}"},
                                                          {'"', "''"},
                                                          {'[', "{[}"},
                                                          {']', "{]}"}};
    const std::string clean = exchange::escapeForTerminal(text);
    std::string_view left = clean;
    std::string out;
    while (!left.empty()) {
        const std::string_view before = left;
        const char32_t point = takeCodePoint(left);
        const std::string_view bytes = before.substr(0, before.size() - left.size());
        out += point < 0x80 ? replaced(bytes, special) : latexOf(point, bytes);
    }
    return out;
}

std::string escapeMarkdown(std::string_view text)
{
    return replaced(exchange::escapeForTerminal(text), {{'\\', "\\\\"},
                                                        {'`', "\\`"},
                                                        {'*', "\\*"},
                                                        {'_', "\\_"},
                                                        {'[', "\\["},
                                                        {']', "\\]"},
                                                        {'<', "&lt;"},
                                                        {'>', "&gt;"},
                                                        {'&', "&amp;"},
                                                        {'#', "\\#"},
                                                        {'|', "\\|"},
                                                        {'~', "\\~"},
                                                        {'!', "\\!"}});
}

std::string latexCode(std::string_view text)
{
    // Characters that a font may turn into curly quotes, ligatures or dashes.
    static const std::map<char, std::string_view> literal{
        {'"', "\\char34{}"}, {'\'', "\\textquotesingle{}"}, {'`', "\\textasciigrave{}"}, {'-', "-{}"}};
    std::string code;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of("\"'`-", at), text.size());
        code += escapeLatex(text.substr(at, end - at));
        if (end < text.size())
            code += literal.at(text[end]);
        at = end + 1;
    }
    return code;
}

std::string markdownCode(std::string_view text)
{
    const std::string clean = exchange::escapeForTerminal(text);
    // A code span needs a delimiter longer than any sequence of backticks inside it.
    std::size_t longest = 0;
    std::size_t row = 0;
    for (const char character : clean) {
        row = character == '`' ? row + 1 : 0;
        longest = std::max(longest, row);
    }
    const std::string fence(longest + 1, '`');
    // Markdown strips one blank from each end of a code span.
    const bool apart = clean.empty() || longest > 0 || clean.front() == ' ' || clean.back() == ' ';
    return apart ? fence + ' ' + clean + ' ' + fence : fence + clean + fence;
}

} // namespace tilescope::report
