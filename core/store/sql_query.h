#pragma once

#include "core/base/units.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilescope::store {

/// Limits of one statement. Rows beyond them are not read.
struct SqlLimits {
    std::size_t rows = 1'000'000;
    Bytes values{std::int64_t{512} << 20}; ///< memory of all values together
    Bytes work{std::int64_t{1} << 30};     ///< memory for what is sorted, grouped or made distinct
};

/// A longer text or blob than this is an error of the statement.
inline constexpr Bytes kLongestSqlValue{std::int64_t{64} << 20};
inline constexpr Bytes kLongestSqlText{std::int64_t{1} << 20};

/// The rows of a statement.
struct SqlResult {
    /// Null, integer, real or text. A blob is the text `x'0aff'`.
    using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

    std::vector<std::string> columns; ///< as the statement names them; names may repeat
    std::vector<Value> values;        ///< row by row
    bool isComplete = true;           ///< false: the statement has more rows than the limits allow

    std::size_t rows() const { return columns.empty() ? 0 : values.size() / columns.size(); }
    const Value& at(std::size_t row, std::size_t column) const
    {
        return values[row * columns.size() + column];
    }
};

/// A view or table of a recording, for lists that help to write a statement.
struct SqlSource {
    std::string name;
    std::vector<std::string> columns;
    bool isView = false; ///< a view, which has texts instead of ids
};

/// A function of a text that statements can call. It gives the same text for the same argument; null for null.
struct SqlTextFunction {
    const char* name;
    std::string (*of)(std::string_view text);
};

/// Runs one SELECT on a recording. The connection is read-only; statements that write, attach files or change
/// settings are refused. Any thread.
///
/// All rows are of one moment, also while the file is written. The writer cannot seal the file meanwhile.
/// \param stop       ends the statement
/// \param functions  what it can call besides SQLite's functions; called once for each distinct text
/// \throws Error (Usage)    the statement is wrong, with its line and column where SQLite gives them; or the
///                          file is not a recording
/// \throws Error (Failure)  the statement was stopped, or needs more memory than the limit
SqlResult runSql(const std::filesystem::path& file, std::string_view sql, const SqlLimits& limits = {},
                 const std::stop_token& stop = {}, std::span<const SqlTextFunction> functions = {});

/// The views of a recording, those with the names of other tools after ours, and then its tables; each sorted by
/// name.
std::vector<SqlSource> sqlSources(const std::filesystem::path& file);

} // namespace tilescope::store
