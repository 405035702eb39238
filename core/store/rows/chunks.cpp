#include "core/store/rows/chunks.h"

#include "core/base/error.h"
#include "core/store/file/database.h"
#include "core/store/rows/event_rows.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

namespace tilescope::store {

namespace {

/// The digest of a row of `chunk` without its checksum, of which it is a part.
std::uint64_t descriptionOf(const Chunk& chunk)
{
    RowDigest digest;
    digest.add(chunk.id);
    digest.addOrNull(chunk.run.value_or(kNull));
    digest.add(std::string_view(chunk.table));
    for (const std::int64_t value : {chunk.first, chunk.last, chunk.rows})
        digest.add(value);
    digest.addOrNull(chunk.start);
    digest.addOrNull(chunk.end);
    return digest.value();
}

const EventTable* eventTableNamed(std::string_view name)
{
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
        if (const EventTable& table = eventTable(static_cast<EventKind>(kind)); table.name == name)
            return &table;
    return nullptr;
}

} // namespace

bool isDerived(std::string_view table)
{
    return std::ranges::find(kDerivedTables, table) != std::end(kDerivedTables);
}

bool isRebuiltOnCopy(std::string_view table)
{
    return isDerived(table) && table != "path_total";
}

void Chunk::add(std::int64_t rowId, const RowDigest& digest)
{
    first = rows == 0 ? rowId : std::min(first, rowId);
    last = rows == 0 ? rowId : std::max(last, rowId);
    ++rows;
    sum += digest.value();
}

Chunk chunkAt(SQLite::Statement& row, int column)
{
    constexpr int kTable = 2, kChecksum = kChunkColumnCount - 1;
    Chunk chunk;
    // The description is that of the stored values: a number that is stored as a text is another value.
    RowDigest description;
    std::array<std::int64_t, kChunkColumnCount> values{};
    std::uint64_t described = 0;
    bool isInteger = false;
    for (int i = 0; i < kChunkColumnCount; ++i) {
        const SQLite::Column value = row.getColumn(column + i);
        const int type = value.getType();
        isInteger = type == SQLITE_INTEGER;
        std::int64_t& number = values[static_cast<std::size_t>(i)];
        number = isInteger ? value.getInt64() : kNull;
        if (i == kTable)
            chunk.table.assign(value.getText(), static_cast<std::size_t>(value.getBytes()));
        if (isInteger)
            description.add(number);
        else
            addColumn(value, description);
        if (i == kChecksum - 1)
            described = description.value();
    }
    chunk.id = values[0];
    chunk.run = values[1] == kNull ? std::nullopt : std::optional(values[1]);
    chunk.first = values[3];
    chunk.last = values[4];
    chunk.rows = values[5];
    chunk.start = values[6];
    chunk.end = values[7];
    chunk.sum = static_cast<std::uint64_t>(values[kChecksum]) - described - (isInteger ? 0 : 1);
    return chunk;
}

std::vector<std::string> tablesInChunks(SQLite::Database& database, int version)
{
    std::vector<std::string> names;
    SQLite::Statement row(database, "select name from main.sqlite_schema where type = 'table' order by name");
    while (row.executeStep()) {
        const std::string name = row.getColumn(0).getString();
        // Earlier versions counted the rows in `tally`, and those of `level` are no longer read.
        const bool isOld =
            version < kFirstWithChecksums && (name == "file" || name == "tally" || name == "level");
        if (name != "chunk" && !isOld && !name.starts_with("sqlite_"))
            names.push_back(name);
    }
    return names;
}

void addColumn(sqlite3_stmt* row, int column, RowDigest& digest)
{
    sqlite3_value* value = sqlite3_column_value(row, column);
    const int type = sqlite3_value_type(value);
    switch (type) {
    case SQLITE_INTEGER:
        digest.add(std::int64_t{sqlite3_value_int64(value)});
        break;
    case SQLITE_FLOAT:
        digest.add(sqlite3_value_double(value));
        break;
    case SQLITE_NULL:
        digest.addNull();
        break;
    default: {
        const auto* data = static_cast<const char*>(sqlite3_value_blob(value));
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
        const std::string_view bytes = data ? std::string_view(data, size) : std::string_view();
        type == SQLITE_TEXT ? digest.add(bytes) : digest.addBlob(bytes);
    }
    }
}

void addColumn(const SQLite::Column& value, RowDigest& digest)
{
    const auto bytes = [&value] {
        const auto* data = static_cast<const char*>(value.getBlob());
        return data ? std::string_view(data, static_cast<std::size_t>(value.getBytes())) : std::string_view();
    };
    switch (value.getType()) {
    case SQLITE_INTEGER:
        return digest.add(std::int64_t{value.getInt64()});
    case SQLITE_FLOAT:
        return digest.add(value.getDouble());
    case SQLITE_NULL:
        return digest.addNull();
    case SQLITE_TEXT:
        return digest.add(bytes());
    default:
        return digest.addBlob(bytes());
    }
}

RowDigest digestOf(sqlite3_stmt* row, int columns)
{
    RowDigest digest;
    for (int column = 0; column < columns; ++column)
        addColumn(row, column, digest);
    return digest;
}

RowDigest digestOf(SQLite::Statement& row, int columns, int first)
{
    RowDigest digest;
    for (int column = first; column < first + columns; ++column)
        addColumn(row.getColumn(column), digest);
    return digest;
}

// Writing -----------------------------------------------------------------------------------------------------

ChunkWriter::ChunkWriter(SQLite::Database& database)
    : database_(database), nextChunk_(integerOf(database, "select coalesce(max(id), 0) + 1 from chunk"))
{
    SQLite::Statement row(database, "select source, next from next_id");
    while (row.executeStep())
        table(row.getColumn(0).getString()).next_ = row.getColumn(1).getInt64();
}

ChunkWriter::Table& ChunkWriter::table(std::string_view name)
{
    const auto known = tables_.find(name);
    if (known != tables_.end())
        return known->second;
    Table& table = tables_[std::string(name)];
    table.name_ = name;
    return table;
}

void ChunkWriter::add(Table& table, std::optional<std::int64_t> run, std::int64_t id, const RowDigest& digest)
{
    Chunk& chunk = table.open_;
    if (chunk.rows == static_cast<std::int64_t>(kChunkRows) || (chunk.rows > 0 && chunk.run != run)) {
        add(chunk);
        chunk.rows = 0;
    }
    if (chunk.rows == 0)
        chunk = {.run = run, .table = table.name_};
    chunk.add(id, digest);
}

void ChunkWriter::add(Chunk chunk)
{
    chunk.id = nextChunk_++;
    store(chunk);
}

void ChunkWriter::store(const Chunk& chunk)
{
    const StatementCache::Handle insert =
        query("insert or replace into chunk (id, run, source, first, last, rows, start, end, checksum) "
              "values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    const auto bindOrNull = [&insert](int position, std::int64_t value) {
        if (value == kNull)
            insert->bind(position);
        else
            insert->bind(position, value);
    };
    insert->bind(1, chunk.id);
    bindOrNull(2, chunk.run.value_or(kNull));
    insert->bind(3, chunk.table);
    insert->bind(4, chunk.first);
    insert->bind(5, chunk.last);
    insert->bind(6, chunk.rows);
    bindOrNull(7, chunk.start);
    bindOrNull(8, chunk.end);
    insert->bind(9, static_cast<std::int64_t>(chunk.sum + descriptionOf(chunk)));
    insert->exec();
}

/// One chunk of the rows of a small table; of `run`, the row of that run.
Chunk ChunkWriter::chunkOf(std::string_view table, std::optional<std::int64_t> run)
{
    Chunk chunk{.run = run, .table = std::string(table)};
    const StatementCache::Handle row = query("select * from " + chunk.table + (run ? " where id = ?" : ""));
    if (run)
        row->bind(1, *run);
    while (row->executeStep())
        chunk.add(row->getColumn(0).getInt64(), digestOf(*row, row->getColumnCount()));
    return chunk;
}

/// The stored chunk of those rows; one without rows if there is none.
Chunk ChunkWriter::storedChunk(std::string_view table, std::optional<std::int64_t> run)
{
    const StatementCache::Handle row =
        query(std::string("select ") + kChunkColumns + " from chunk where source = ?1 and run is ?2");
    row->bind(1, std::string(table));
    if (run)
        row->bind(2, *run);
    else
        row->bind(2);
    return row->executeStep() ? chunkAt(*row) : Chunk();
}

void ChunkWriter::rewrite(std::string_view table, std::optional<std::int64_t> run)
{
    Chunk chunk = chunkOf(table, run);
    const Chunk before = storedChunk(table, run);
    if (before.rows == chunk.rows && before.sum == chunk.sum)
        return;
    chunk.id = before.rows > 0 ? before.id : nextChunk_++;
    store(chunk);
}

void ChunkWriter::rewriteRun(std::int64_t run)
{
    // The chunk may not have been written yet.
    flush();
    rewrite("run", run);
}

void ChunkWriter::removeRun(std::int64_t run)
{
    const StatementCache::Handle remove = query("delete from chunk where run = ?");
    remove->bind(1, run);
    remove->exec();
}

void ChunkWriter::flush()
{
    bool changed = false;
    for (auto& [name, table] : tables_) {
        if (table.open_.rows > 0) {
            add(table.open_);
            table.open_.rows = 0;
        }
        if (!table.changed_)
            continue;
        const StatementCache::Handle update = query("insert into next_id (source, next) values (?1, ?2) "
                                                    "on conflict (source) do update set next = ?2");
        update->bind(1, name);
        update->bind(2, table.next_);
        update->exec();
        table.changed_ = false;
        changed = true;
    }
    if (changed)
        rewrite("next_id", {});
    // Others change the row of `file`.
    rewrite("file", {});
}

void ChunkWriter::requireOwnRows(const std::filesystem::path& file)
{
    for (const char* table : {"file", "next_id"}) {
        const Chunk written = storedChunk(table, {});
        const Chunk found = chunkOf(table, {});
        if (written.rows != found.rows || written.sum != found.sum)
            throw Error{.what = "the file is damaged: the rows of the table " + std::string(table) +
                                " are not as they were written",
                        .where = file.string(),
                        .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
    }
}

// Older files -------------------------------------------------------------------------------------------------

namespace {

/// The number of the column that says to which run a row belongs; none if the rows belong to no run.
std::optional<int> runColumnOf(SQLite::Statement& row, std::string_view table)
{
    if (table == "run")
        return 0;
    for (int column = 0; column < row.getColumnCount(); ++column)
        if (std::string_view(row.getColumnName(column)) == "run")
            return column;
    return {};
}

void addTime(Chunk& chunk, SQLite::Statement& row, const EventTable& table)
{
    const std::int64_t start = row.getColumn(static_cast<int>(EventTable::start)).getInt64();
    const std::int64_t duration = table.duration < 0 ? 0 : row.getColumn(table.duration).getInt64();
    std::int64_t end = 0;
    if (__builtin_add_overflow(start, duration, &end))
        end = start;
    chunk.start = chunk.rows == 0 ? start : std::min(chunk.start, start);
    chunk.end = chunk.rows == 0 ? end : std::max(chunk.end, end);
}

void writeChunksOf(const std::string& table, SQLite::Database& database, ChunkWriter& writer)
{
    SQLite::Statement row(database, "select * from " + table + " order by id");
    const std::optional<int> runColumn = runColumnOf(row, table);
    const EventTable* events = eventTableNamed(table);
    const int columns = row.getColumnCount();
    Chunk chunk;
    while (row.executeStep()) {
        const std::optional<std::int64_t> run =
            runColumn ? std::optional(row.getColumn(*runColumn).getInt64()) : std::nullopt;
        if (chunk.rows > 0 && (chunk.rows == static_cast<std::int64_t>(kChunkRows) || chunk.run != run)) {
            writer.add(chunk);
            chunk.rows = 0;
        }
        if (chunk.rows == 0)
            chunk = {.run = run, .table = table};
        if (events)
            addTime(chunk, row, *events);
        chunk.add(row.getColumn(0).getInt64(), digestOf(row, columns));
    }
    if (chunk.rows > 0)
        writer.add(chunk);
}

} // namespace

void writeChunksAnew(SQLite::Database& database)
{
    database.exec("delete from chunk");
    ChunkWriter writer(database);
    for (const std::string& table : tablesInChunks(database, kFirstWithChecksums))
        writeChunksOf(table, database, writer);
}

} // namespace tilescope::store
