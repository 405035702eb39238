#include "core/report/table_parts.h"

#include "core/report/writers.h"

#include <algorithm>

namespace tilescope::report {

namespace {

constexpr std::size_t kPageWidth = 92;     // characters of a table's font on 17 cm
constexpr std::size_t kBetweenColumns = 2; // characters
constexpr std::size_t kSentence = 24;      // the least width of a column with sentences

/// The number of characters in UTF-8.
std::size_t lengthOf(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80; }));
}

std::size_t longestWord(std::string_view text)
{
    std::size_t longest = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        longest = std::max(longest, lengthOf(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return longest;
}

std::size_t widthOf(const Table& table, std::size_t column)
{
    std::size_t width = longestWord(headingOf(table.columns[column]));
    if (hasSentences(table, column))
        return std::max(width, kSentence) + kBetweenColumns;
    for (const auto& row : table.rows)
        width = std::max(width, lengthOf(row[column].text) + (row[column].note ? 1 : 0));
    return width + kBetweenColumns;
}

/// Fills one part after the other.
std::vector<TablePart> partsWithin(const Table& table, std::size_t most)
{
    TablePart keys{.table = &table};
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        if (table.columns[column].isKey)
            keys.columns.push_back(column);
    std::vector<TablePart> parts{keys};
    std::size_t width = widthOf(keys);
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        if (table.columns[column].isKey)
            continue;
        const std::size_t more = widthOf(table, column);
        if (width + more > most && parts.back().columns.size() > keys.columns.size()) {
            parts.back().last = false;
            parts.push_back(keys);
            parts.back().first = false;
            width = widthOf(keys);
        }
        parts.back().columns.push_back(column);
        width += more;
    }
    return parts;
}

} // namespace

bool hasSentences(const Table& table, std::size_t column)
{
    return !table.columns[column].numeric && std::ranges::any_of(table.rows, [column](const auto& row) {
        return lengthOf(row[column].text) > kSentence;
    });
}

std::size_t widthOf(const TablePart& part)
{
    std::size_t width = 0;
    for (const std::size_t column : part.columns)
        width += widthOf(*part.table, column);
    return width;
}

std::vector<TablePart> partsOf(const Table& table)
{
    std::vector<TablePart> parts = partsWithin(table, kPageWidth);
    // Parts of about equal width.
    if (parts.size() > 1)
        for (std::size_t width = widthOf(parts.back()); width < kPageWidth; ++width)
            if (std::vector<TablePart> even = partsWithin(table, width); even.size() == parts.size())
                return even;
    return parts;
}

std::vector<std::string_view> breakable(std::string_view text)
{
    constexpr std::string_view kBehind = "_:<>,./-([&";
    constexpr std::size_t kShort = 8;
    constexpr std::size_t kLong = 16;
    std::vector<std::string_view> pieces;
    std::size_t from = 0;
    std::size_t word = 0; // bytes of the word since its last break
    for (std::size_t at = 0; at < text.size(); ++at) {
        word = text[at] == ' ' ? 0 : word + 1;
        const bool isInside = at + 1 < text.size() && text[at + 1] != ' ' &&
                              (static_cast<unsigned char>(text[at + 1]) & 0xc0U) != 0x80;
        const auto isPunctuation = [&](std::size_t i) {
            return kBehind.find(text[i]) != std::string_view::npos;
        };
        if (isInside && ((word >= kShort && isPunctuation(at) && !isPunctuation(at + 1)) || word >= kLong)) {
            pieces.push_back(text.substr(from, at + 1 - from));
            from = at + 1;
            word = 0;
        }
    }
    if (from < text.size())
        pieces.push_back(text.substr(from));
    return pieces;
}

} // namespace tilescope::report
