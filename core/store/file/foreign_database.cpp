#include "core/store/file/foreign_database.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/store/file/file_check.h"

#include <sqlite3.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

namespace tilescope::store {

namespace {

constexpr std::size_t kHeader = 100;
constexpr std::size_t kApplicationIdAt = 68;

constexpr int kLongestValue = 256 << 20;   // bytes of one text or row
constexpr int kLongestStatement = 1 << 20; // of the schema, or ours
constexpr int kColumnLimit = 1000;
constexpr std::int64_t kOpcodesPerCheck = 1000;
constexpr std::int64_t kMostSchemaChecks = 100'000; // 100 million steps to read the schema

struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};

std::string inQuotes(std::string_view name)
{
    std::string text = "\"";
    for (const char c : name) {
        text += c;
        if (c == '"')
            text += c;
    }
    return text + "\"";
}

int countCheck(void* counter)
{
    return ++*static_cast<std::int64_t*>(counter) > kMostSchemaChecks ? 1 : 0;
}

} // namespace

class ForeignDatabase::Impl {
public:
    explicit Impl(std::filesystem::path path) : file(std::move(path))
    {
        std::error_code none;
        size = static_cast<std::int64_t>(std::filesystem::file_size(file, none));
        std::filesystem::path log = file;
        log += "-wal";
        if (const auto bytes = std::filesystem::file_size(log, none); !none && bytes > 0)
            throw Error{.what = "the database has a write-ahead log: a program is still writing it, or was "
                                "killed",
                        .where = file.string(),
                        .remedy = "close that program, or fold the log in with `sqlite3 FILE 'pragma "
                                  "wal_checkpoint(truncate)'`"};
        open();
    }

    [[noreturn]] void fail(int code) const
    {
        const std::string message = database ? sqlite3_errmsg(database.get()) : sqlite3_errstr(code);
        throw Error{.what = "the SQLite database cannot be read: " + message,
                    .where = file.string(),
                    .remedy = "export or copy it again"};
    }
    void check(int code) const
    {
        if (code != SQLITE_OK)
            fail(code);
    }

    Statement prepare(const std::string& sql) const
    {
        sqlite3_stmt* statement = nullptr;
        check(sqlite3_prepare_v2(database.get(), sql.c_str(), static_cast<int>(sql.size()), &statement,
                                 nullptr));
        return Statement(statement);
    }

    /// Rows of a sound file take at least four bytes each. A damaged tree may lead around in circles.
    std::int64_t mostRows() const { return size / 4 + 1; }

    std::filesystem::path file;
    std::int64_t size = 0;
    std::unique_ptr<sqlite3, CloseDatabase> database;
    std::vector<std::string> tables;
    mutable std::map<std::string, std::set<std::string, std::less<>>, std::less<>> columns;

private:
    void open()
    {
        // Only a URI can say that nothing but the file itself may be read.
        sqlite3* handle = nullptr;
        const int opened =
            sqlite3_open_v2(uriOf(file, "mode=ro&immutable=1").c_str(), &handle,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
        database.reset(handle);
        check(opened);
        for (const auto& [option, value] :
             std::initializer_list<std::pair<int, int>>{{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                        {SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                                        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}})
            check(sqlite3_db_config(handle, option, value, nullptr));
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
        sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, kLongestStatement);
        sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, kColumnLimit);
        std::int64_t checks = 0;
        sqlite3_progress_handler(handle, kOpcodesPerCheck, countCheck, &checks);
        check(sqlite3_exec(handle, "pragma cell_size_check = on", nullptr, nullptr, nullptr));
        readTables();
        sqlite3_progress_handler(handle, 0, nullptr, nullptr);
    }

    void readTables()
    {
        // Views and virtual tables have no root page.
        const Statement query =
            prepare("select name from sqlite_master where type = 'table' and rootpage > 0 order by name");
        int code = SQLITE_ROW;
        while ((code = sqlite3_step(query.get())) == SQLITE_ROW) {
            const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
            if (name)
                tables.emplace_back(name);
        }
        if (code != SQLITE_DONE)
            fail(code);
        std::ranges::sort(tables);
        for (const std::string& table : tables) {
            // Lists neither generated nor hidden columns.
            const Statement info = prepare("pragma table_info(" + inQuotes(table) + ")");
            auto& names = columns[table];
            while (sqlite3_step(info.get()) == SQLITE_ROW)
                if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info.get(), 1)))
                    names.emplace(name);
        }
    }
};

class ForeignDatabase::Rows::Impl {
public:
    const ForeignDatabase::Impl* database = nullptr;
    Statement statement; ///< null: no rows
    std::int64_t left = 0;
};

ForeignDatabase::Rows::Rows(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ForeignDatabase::Rows::Rows(Rows&&) noexcept = default;
ForeignDatabase::Rows::~Rows() = default;

bool ForeignDatabase::Rows::next()
{
    if (!impl_->statement)
        return false;
    const int code = sqlite3_step(impl_->statement.get());
    if (code == SQLITE_ROW && impl_->left-- > 0)
        return true;
    if (code != SQLITE_DONE)
        impl_->database->fail(code == SQLITE_ROW ? SQLITE_CORRUPT : code);
    return false;
}

void ForeignDatabase::Rows::restart(std::int64_t first, std::int64_t last)
{
    if (!impl_->statement)
        return;
    sqlite3_reset(impl_->statement.get());
    sqlite3_bind_int64(impl_->statement.get(), 1, first);
    sqlite3_bind_int64(impl_->statement.get(), 2, last);
}

bool ForeignDatabase::Rows::isNull(int column) const
{
    return sqlite3_column_type(impl_->statement.get(), column) == SQLITE_NULL;
}

std::optional<std::int64_t> ForeignDatabase::Rows::integer(int column) const
{
    // One look-up of the column instead of two. The connection has one thread, so the value needs no protection.
    sqlite3_value* value = sqlite3_column_value(impl_->statement.get(), column);
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return {};
    return sqlite3_value_int64(value);
}

std::int64_t ForeignDatabase::Rows::integerOr(int column, std::int64_t otherwise) const
{
    return integer(column).value_or(otherwise);
}

std::string_view ForeignDatabase::Rows::text(int column) const
{
    sqlite3_stmt* statement = impl_->statement.get();
    // The text of a database in UTF-16 is converted; bytes are not.
    const void* bytes = sqlite3_column_type(statement, column) == SQLITE_TEXT
                            ? sqlite3_column_text(statement, column)
                            : sqlite3_column_blob(statement, column);
    const int length = sqlite3_column_bytes(statement, column);
    return bytes && length > 0
               ? std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(length))
               : std::string_view();
}

bool ForeignDatabase::isDatabase(std::string_view head)
{
    if (head.size() < kHeader || !head.starts_with(kSqliteMagic))
        return false;
    std::uint32_t application = 0;
    for (std::size_t i = 0; i < 4; ++i)
        application = application << 8 | static_cast<unsigned char>(head[kApplicationIdAt + i]);
    return application != static_cast<std::uint32_t>(kRecordingId);
}

ForeignDatabase::ForeignDatabase(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
ForeignDatabase::~ForeignDatabase() = default;

const std::filesystem::path& ForeignDatabase::file() const
{
    return impl_->file;
}

const std::vector<std::string>& ForeignDatabase::tables() const
{
    return impl_->tables;
}

bool ForeignDatabase::hasTable(std::string_view table) const
{
    return std::ranges::binary_search(impl_->tables, table);
}

bool ForeignDatabase::hasColumn(std::string_view table, std::string_view column) const
{
    const auto found = impl_->columns.find(table);
    return found != impl_->columns.end() && found->second.contains(column);
}

bool ForeignDatabase::hasRowIds(std::string_view table) const
{
    const auto found = impl_->columns.find(table);
    if (found == impl_->columns.end())
        return false;
    // A column of that name hides the row ids.
    if (std::ranges::any_of(found->second, [](const std::string& name) {
            return sqlite3_stricmp(name.c_str(), "rowid") == 0;
        }))
        return false;
    sqlite3_stmt* handle = nullptr;
    const std::string sql = "select rowid from " + inQuotes(table);
    const int prepared = sqlite3_prepare_v2(impl_->database.get(), sql.c_str(), -1, &handle, nullptr);
    const Statement query(handle);
    return prepared == SQLITE_OK;
}

std::int64_t ForeignDatabase::aboutRows(std::string_view table) const
{
    if (!hasTable(table))
        return 0;
    // A table without row ids has none to ask for.
    sqlite3_stmt* handle = nullptr;
    const std::string sql = "select max(rowid) from " + inQuotes(table);
    const int prepared = sqlite3_prepare_v2(impl_->database.get(), sql.c_str(), -1, &handle, nullptr);
    const Statement query(handle);
    if (prepared != SQLITE_OK || sqlite3_step(handle) != SQLITE_ROW)
        return 0;
    return std::clamp<std::int64_t>(sqlite3_column_int64(handle, 0), 0, impl_->mostRows());
}

std::int64_t ForeignDatabase::countRows(std::string_view table) const
{
    Rows rows = read(table, {});
    std::int64_t count = 0;
    while (rows.next())
        ++count;
    return count;
}

ForeignDatabase::Rows ForeignDatabase::read(std::string_view table,
                                            std::span<const std::string_view> columns) const
{
    return rowsOf(table, columns, "");
}

ForeignDatabase::Rows ForeignDatabase::readWithin(std::string_view table,
                                                  std::span<const std::string_view> columns) const
{
    return rowsOf(table, columns, " where rowid between ? and ?");
}

ForeignDatabase::Rows ForeignDatabase::rowsOf(std::string_view table,
                                              std::span<const std::string_view> columns,
                                              std::string_view where) const
{
    auto rows = std::make_unique<Rows::Impl>();
    rows->database = impl_.get();
    if (!hasTable(table))
        return Rows(std::move(rows));
    std::string sql = "select ";
    for (const std::string_view column : columns)
        sql += (hasColumn(table, column) ? inQuotes(column) : std::string("null")) + ", ";
    // Without an index rows come in the order in which they lie in the file.
    sql.append("1 from ").append(inQuotes(table)).append(" not indexed").append(where);
    rows->statement = impl_->prepare(sql);
    rows->left = impl_->mostRows();
    return Rows(std::move(rows));
}

} // namespace tilescope::store
