#include "core/store/sql_query.h"

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/store/rows/read_connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>

namespace tilescope::store {

namespace {

constexpr const char* kWhere = "SQL";
/// Steps of SQLite's virtual machine between two looks at the stop token: well below a millisecond.
constexpr int kStepsBetweenLooks = 4'000;
/// Results of a function that are remembered at once.
constexpr std::size_t kMostKnownTexts = 100'000;
/// Memory of a value besides its text.
constexpr std::int64_t kValueSize = sizeof(SqlResult::Value);

struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

/// Lets a statement read tables, call functions and list columns, and nothing else.
int authorize(void*, int action, const char* first, const char*, const char*, const char*)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_PRAGMA: {
        constexpr std::array<std::string_view, 4> kLists{"table_info", "table_xinfo", "table_list",
                                                         "index_list"};
        return first && std::ranges::find(kLists, std::string_view(first)) != kLists.end() ? SQLITE_OK
                                                                                           : SQLITE_DENY;
    }
    default:
        return SQLITE_DENY;
    }
}

/// Applies the restrictions of a statement to a connection and removes them again.
class Restricted {
public:
    Restricted(sqlite3* handle, Bytes mostWork, const std::stop_token& stop)
        : handle_(handle), stop_(stop), mostMemory_(sqlite3_memory_used() + mostWork.count),
          length_(sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, intOf(kLongestSqlValue))),
          text_(sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, intOf(kLongestSqlText)))
    {
        sqlite3_progress_handler(handle, kStepsBetweenLooks, shouldStop, this);
        // What is sorted would otherwise go to files without a limit.
        sqlite3_exec(handle, "pragma temp_store = memory", nullptr, nullptr, nullptr);
        sqlite3_set_authorizer(handle, authorize, nullptr);
    }
    ~Restricted()
    {
        sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
        sqlite3_set_authorizer(handle_, nullptr, nullptr);
        sqlite3_limit(handle_, SQLITE_LIMIT_SQL_LENGTH, text_);
        sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, length_);
    }
    Restricted(const Restricted&) = delete;
    Restricted& operator=(const Restricted&) = delete;

    /// Whether the statement was ended because it needs too much memory.
    bool needsTooMuch() const { return needsTooMuch_; }

private:
    static int shouldStop(void* self)
    {
        auto& restricted = *static_cast<Restricted*>(self);
        restricted.needsTooMuch_ = sqlite3_memory_used() > restricted.mostMemory_;
        return restricted.needsTooMuch_ || restricted.stop_.stop_requested() ? 1 : 0;
    }
    static int intOf(Bytes bytes) { return static_cast<int>(bytes.count); }

    sqlite3* handle_;
    const std::stop_token& stop_;
    const std::int64_t mostMemory_;
    bool needsTooMuch_ = false;
    int length_;
    int text_;
};

/// A function with its results so far: a recording has few names and many rows of each.
struct KnownTexts {
    std::string (*of)(std::string_view text);
    std::unordered_map<std::string, std::string> results = {};
};

void callTextFunction(sqlite3_context* context, int, sqlite3_value** arguments)
{
    if (sqlite3_value_type(arguments[0]) == SQLITE_NULL)
        return sqlite3_result_null(context);
    try {
        auto& known = *static_cast<KnownTexts*>(sqlite3_user_data(context));
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
        if (bytes == nullptr)
            return sqlite3_result_error_nomem(context);
        const std::string text(bytes, static_cast<std::size_t>(sqlite3_value_bytes(arguments[0])));
        auto found = known.results.find(text);
        if (found == known.results.end()) {
            if (known.results.size() == kMostKnownTexts)
                known.results.clear();
            found = known.results.emplace(text, known.of(text)).first;
        }
        sqlite3_result_text(context, found->second.data(), static_cast<int>(found->second.size()),
                            SQLITE_TRANSIENT);
    } catch (...) { // must not leave through SQLite
        sqlite3_result_error(context, currentExceptionSentence().c_str(), -1);
    }
}

void addFunctions(sqlite3* handle, std::span<const SqlTextFunction> functions)
{
    for (const SqlTextFunction& function : functions)
        sqlite3_create_function_v2(handle, function.name, 1,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                   new KnownTexts{function.of}, callTextFunction, nullptr, nullptr,
                                   [](void* known) { delete static_cast<KnownTexts*>(known); });
}

/// `SQL:2:7` for an offset in bytes.
std::string placeOf(std::string_view sql, int offset)
{
    if (offset < 0 || static_cast<std::size_t>(offset) > sql.size())
        return kWhere;
    const std::string_view before = sql.substr(0, static_cast<std::size_t>(offset));
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t begin = before.rfind('\n') + 1; // 0 if there is none
    return std::string(kWhere) + ":" + std::to_string(line) + ":" + std::to_string(before.size() - begin + 1);
}

std::vector<SqlSource> sourcesOf(SQLite::Database& database)
{
    std::vector<SqlSource> sources;
    // Files of older versions are read through temporary views. Views named as in other tools come last.
    SQLite::Statement names(database, "select name, max(type = 'view') from "
                                      "(select name, type from sqlite_schema union all "
                                      "select name, type from sqlite_temp_schema) "
                                      "where type in ('table', 'view') and name not like 'sqlite_%' "
                                      "group by name order by 2 desc, name glob '[A-Z]*', 1");
    SQLite::Statement columns(database, "select name from pragma_table_info(?1)");
    while (names.executeStep()) {
        SqlSource source{.name = names.getColumn(0).getString(),
                         .columns = {},
                         .isView = names.getColumn(1).getInt() != 0};
        columns.reset();
        columns.bind(1, source.name);
        while (columns.executeStep())
            source.columns.push_back(columns.getColumn(0).getString());
        sources.push_back(std::move(source));
    }
    return sources;
}

/// The remedy for a statement that SQLite refuses: the most similar name if one is unknown.
std::string remedyFor(SQLite::Database& database, const std::string& message)
{
    constexpr std::string_view kTable = "no such table: ";
    constexpr std::string_view kColumn = "no such column: ";
    const bool isTable = message.starts_with(kTable);
    if (!isTable && !message.starts_with(kColumn))
        return "tilescope sql FILE lists views and columns";
    const std::vector<SqlSource> sources = sourcesOf(database);
    std::vector<std::string_view> words;
    for (const SqlSource& source : sources) {
        if (isTable)
            words.push_back(source.name);
        else
            words.insert(words.end(), source.columns.begin(), source.columns.end());
    }
    std::string name = message.substr(isTable ? kTable.size() : kColumn.size());
    if (const std::size_t dot = name.rfind('.'); dot != std::string::npos)
        name.erase(0, dot + 1);
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    const std::string_view similar = nearestWord(name, words);
    const std::string question =
        similar.empty() || similar == name ? "" : "did you mean '" + std::string(similar) + "'? ";
    return question + "tilescope sql FILE lists views and columns";
}

/// \param sql  for places in it; empty while the statement runs
[[noreturn]] void throwRefused(SQLite::Database& database, int code, std::string_view sql)
{
    sqlite3* handle = database.getHandle();
    switch (code & 0xff) {
    case SQLITE_AUTH:
        throw Error{.what = "only a statement that reads is possible",
                    .where = kWhere,
                    .remedy = "write one SELECT; recordings are not changed by SQL"};
    case SQLITE_INTERRUPT:
        throw Error{.what = "the statement was stopped", .where = kWhere, .kind = ErrorKind::Failure};
    case SQLITE_TOOBIG:
        throw Error{.what = "the statement or one of its values is too long",
                    .where = kWhere,
                    .remedy = "a statement has at most 1 MiB, a value at most 64 MiB"};
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: {
        const std::string message = sqlite3_errmsg(handle);
        // Lists of names need more than a user's statement may do.
        sqlite3_set_authorizer(handle, nullptr, nullptr);
        const std::string place = placeOf(sql, sql.empty() ? -1 : sqlite3_error_offset(handle));
        throw Error{.what = message, .where = place, .remedy = remedyFor(database, message)};
    }
    default:
        throw SQLite::Exception(handle, code);
    }
}

bool isBlank(std::string_view text)
{
    return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

Statement prepare(SQLite::Database& database, std::string_view sql)
{
    sqlite3_stmt* made = nullptr;
    const char* rest = nullptr;
    const int code =
        sqlite3_prepare_v2(database.getHandle(), sql.data(), static_cast<int>(sql.size()), &made, &rest);
    Statement statement(made);
    if (code != SQLITE_OK)
        throwRefused(database, code, sql);
    if (!statement)
        throw Error{.what = "there is no statement", .where = kWhere, .remedy = "write one SELECT"};
    const std::string_view tail = sql.substr(static_cast<std::size_t>(rest - sql.data()));
    if (!isBlank(tail)) {
        // The rest may be a comment, for which SQLite makes no statement.
        sqlite3_stmt* second = nullptr;
        const int next = sqlite3_prepare_v2(database.getHandle(), tail.data(), static_cast<int>(tail.size()),
                                            &second, nullptr);
        const Statement other(second);
        if (next != SQLITE_OK || other)
            throw Error{.what = "there is more than one statement",
                        .where = placeOf(sql, static_cast<int>(rest - sql.data())),
                        .remedy = "run them one at a time"};
    }
    if (const int parameters = sqlite3_bind_parameter_count(statement.get()); parameters > 0) {
        const char* name = sqlite3_bind_parameter_name(statement.get(), 1);
        throw Error{.what = std::string("the parameter ") + (name ? name : "?") + " has no value",
                    .where = kWhere,
                    .remedy = "write the value itself"};
    }
    return statement;
}

std::string blobText(const void* data, int size)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto* bytes = static_cast<const unsigned char*>(data);
    std::string text = "x'";
    text.reserve(static_cast<std::size_t>(size) * 2 + 3);
    for (int i = 0; i < size; ++i) {
        text += kDigits[bytes[i] >> 4U];
        text += kDigits[bytes[i] & 15U];
    }
    return text += '\'';
}

SqlResult::Value valueOf(sqlite3_stmt* statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
        return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
        const void* data = sqlite3_column_blob(statement, column);
        return blobText(data, sqlite3_column_bytes(statement, column));
    }
    default:
        return std::monostate();
    }
}

std::int64_t sizeOf(const SqlResult::Value& value)
{
    const auto* text = std::get_if<std::string>(&value);
    return kValueSize + (text ? static_cast<std::int64_t>(text->capacity()) : 0);
}

SqlResult read(SQLite::Database& database, sqlite3_stmt* statement, const Restricted& restricted,
               const SqlLimits& limits)
{
    SqlResult result;
    const int columns = sqlite3_column_count(statement);
    for (int i = 0; i < columns; ++i)
        result.columns.emplace_back(sqlite3_column_name(statement, i));
    std::int64_t size = 0;
    int code = SQLITE_ROW;
    for (std::size_t rows = 0; (code = sqlite3_step(statement)) == SQLITE_ROW; ++rows) {
        if (rows == limits.rows || size >= limits.values.count) {
            result.isComplete = false;
            return result;
        }
        for (int i = 0; i < columns; ++i) {
            result.values.push_back(valueOf(statement, i));
            size += sizeOf(result.values.back());
        }
    }
    if ((code & 0xff) == SQLITE_INTERRUPT && restricted.needsTooMuch())
        throw Error{.what = "the statement sorts or groups more than " +
                            std::to_string(limits.work.count >> 20) + " MiB of rows",
                    .where = kWhere,
                    .remedy = "select fewer rows or columns, or add a limit to its order",
                    .kind = ErrorKind::Failure};
    if (code != SQLITE_DONE)
        throwRefused(database, code, {});
    return result;
}

} // namespace

SqlResult runSql(const std::filesystem::path& file, std::string_view sql, const SqlLimits& limits,
                 const std::stop_token& stop, std::span<const SqlTextFunction> functions)
{
    ReadConnection connection(file);
    return translating(file, [&] {
        const ReadConnection::Use use(connection);
        SQLite::Database& database = connection.database();
        addFunctions(database.getHandle(), functions);
        const Restricted restricted(database.getHandle(), limits.work, stop);
        const Statement statement = prepare(database, sql);
        return read(database, statement.get(), restricted, limits);
    });
}

std::vector<SqlSource> sqlSources(const std::filesystem::path& file)
{
    ReadConnection connection(file);
    return translating(file, [&] {
        const ReadConnection::Use use(connection);
        return sourcesOf(connection.database());
    });
}

} // namespace tilescope::store
