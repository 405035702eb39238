#include "core/store/rows/text_ids.h"

#include <functional>

namespace tilescope::store {

namespace {

/// Valid until the row is left.
std::string_view textAt(SQLite::Statement& row, int column)
{
    const SQLite::Column value = row.getColumn(column);
    const char* bytes = value.getText(); // before its size, which SQLite counts of the text
    return {bytes, static_cast<std::size_t>(value.getBytes())};
}

} // namespace

TextIds::TextIds(SQLite::Database& database, Hash hash)
    : hash_(hash), textOf_(database, "select text from string where id = ?")
{
    SQLite::Statement rows(database, "select id, text from string");
    while (rows.executeStep())
        add(textAt(rows, 1), rows.getColumn(0).getInt64());
}

std::optional<std::int64_t> TextIds::find(std::string_view text)
{
    const auto [first, last] = ids_.equal_range(hash_(text));
    for (auto known = first; known != last; ++known)
        if (isTextOf(known->second, text))
            return known->second;
    return {};
}

void TextIds::add(std::string_view text, std::int64_t id)
{
    ids_.emplace(hash_(text), id);
}

std::size_t TextIds::hashOf(std::string_view text)
{
    return std::hash<std::string_view>{}(text);
}

bool TextIds::isTextOf(std::int64_t id, std::string_view text)
{
    textOf_.bind(1, id);
    const bool isSame = textOf_.executeStep() && textAt(textOf_, 0) == text;
    textOf_.reset();
    return isSame;
}

} // namespace tilescope::store
