#include "core/store/maintenance/run_copier.h"

#include "core/store/rows/columns.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/tracks/track_writer.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::store {

namespace {

Cell cellAt(SQLite::Statement& row, int column)
{
    const SQLite::Column value = row.getColumn(column);
    if (value.isNull())
        return {};
    if (value.isInteger())
        return value.getInt64();
    if (value.isFloat())
        return value.getDouble();
    // Valid until the row is left.
    const std::string_view bytes(static_cast<const char*>(value.getBlob()),
                                 static_cast<std::size_t>(value.getBytes()));
    return value.isText() ? Cell(bytes) : Cell(Blob{bytes});
}

bool isEvents(std::string_view table)
{
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
        if (eventTable(static_cast<EventKind>(kind)).name == table)
            return true;
    return false;
}

} // namespace

RunCopier::Changed RunCopier::changeOf(std::string_view table, std::string_view column)
{
    struct Column {
        std::string_view table;
        std::string_view column;
        Changed change;
    };
    static constexpr Column kColumns[] = {{"run", "first_range", Changed::FirstRange},
                                          {"run", "first_op", Changed::FirstOp},
                                          {"run", "status", Changed::Status},
                                          {"run", "reason", Changed::Reason},
                                          {"thread", "name", Changed::Text},
                                          {"counter_track", "name", Changed::Text},
                                          {"counter_track", "unit", Changed::Text},
                                          {"host_stack", "function", Changed::Text},
                                          {"sampled_kernel", "name", Changed::Text},
                                          {"sampled_kernel", "symbol", Changed::Text},
                                          {"sampled_instruction", "text", Changed::Text},
                                          {"sampled_instruction", "file", Changed::Text},
                                          {"sampled_instruction", "caller_file", Changed::Text},
                                          {"sampled_instruction", "inlined", Changed::Text},
                                          {"stall_sample", "reason", Changed::Text},
                                          {"kernel_source", "file", Changed::Text},
                                          {"code_place", "path", Changed::Text},
                                          {"code_place", "file", Changed::Text},
                                          {"code_place", "function", Changed::Text},
                                          {"collective", "range", Changed::Range},
                                          {"collective", "op", Changed::Text},
                                          {"collective", "grp", Changed::Text},
                                          {"collective", "ranks", Changed::Text},
                                          {"collective", "dtype", Changed::Text},
                                          {"collective", "path", Changed::Text}};
    if (column == "id")
        return Changed::Id;
    if (column == "run")
        return Changed::Run;
    for (const Column& known : kColumns)
        if (known.table == table && known.column == column)
            return known.change;
    return Changed::Not;
}

/// How the rows of a table are copied.
struct RunCopier::Table {
    std::vector<Changed> changes; ///< by column
    SQLite::Statement insert;
    ChunkWriter::Table& chunks;
};

RunCopier::RunCopier(StoredRows& source, WritableFile& target)
    : source_(source), target_(target), ranges_(target.chunks().table("range")),
      ops_(target.chunks().table("op"))
{
}

RunCopier::~RunCopier() = default;

void RunCopier::checkShared()
{
    if (std::exchange(isChecked_, true))
        return;
    for (const char* table : {"string", "launch"})
        source_.eachSharedRow(table, [](SQLite::Statement&) {});
}

std::int64_t RunCopier::copy(RunId run, std::optional<std::int64_t> number)
{
    return source_.use([&] {
        try {
            checkShared();
            const std::int64_t copied = copyRows(run, number);
            target_.flush();
            return copied;
        } catch (const SQLite::Exception& exception) {
            // An error while reading is the source's, unless only the target's connection knows it: a file that is
            // written is read, too. Any other error is the target's.
            const int code = exception.getErrorCode() & 0xff;
            const auto knows = [code](SQLite::Database& database) {
                return (sqlite3_errcode(database.getHandle()) & 0xff) == code;
            };
            const bool isTargets = knows(target_.database()) && !knows(source_.database());
            const bool reading = (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) && !isTargets;
            throw translated(exception, reading ? source_.file() : target_.file());
        }
    });
}

std::int64_t RunCopier::copyRows(RunId run, std::optional<std::int64_t> number)
{
    const std::int64_t copied = copyRunRow(run, number);
    const std::vector<std::string> tables = source_.tablesOf(run);
    for (const std::string& table : tables)
        if (table != "run" && !isEvents(table) && !isRebuiltOnCopy(table))
            source_.eachRow(run, table, [&](SQLite::Statement& row) { copyRow(row, table, copied); });
    bool hasEvents = false;
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
        if (std::ranges::binary_search(tables, eventTable(static_cast<EventKind>(kind)).name)) {
            copyEvents(run, static_cast<EventKind>(kind));
            hasEvents = true;
        }
    if (hasEvents) {
        target_.flush();
        if (TrackWriter::hasEnough(target_, copied))
            TrackWriter(target_, copied).write();
    }
    return copied;
}

std::int64_t RunCopier::copyRunRow(RunId run, std::optional<std::int64_t> number)
{
    ChunkWriter& chunks = target_.chunks();
    from_ = source_.frameOf(run);
    to_ = {.run = number.value_or(chunks.table("run").nextId()),
           .clockOrigin = from_.clockOrigin,
           .firstRange = ranges_.nextId(),
           .firstOp = ops_.nextId()};
    chunks.table("run").reserve(to_.run);
    const StatementCache::Handle row = source_.connection.query("select * from run where id = ?");
    row->bind(1, run.value);
    row->executeStep();
    died_ = text(*row, "status") == "running";
    copyRow(*row, "run", to_.run);
    return to_.run;
}

RunCopier::Table& RunCopier::tableOf(SQLite::Statement& row, const std::string& name)
{
    std::unique_ptr<Table>& table = tables_[name];
    if (table)
        return *table;
    std::vector<Changed> changes;
    std::string names;
    std::string marks;
    for (int i = 0; i < row.getColumnCount(); ++i) {
        const char* column = row.getColumnName(i);
        changes.push_back(changeOf(name, column));
        names.append(i == 0 ? "" : ", ").append(column);
        marks += i == 0 ? "?" : ", ?";
    }
    const std::string sql = "insert into " + name + " (" + names + ") values (" + marks + ")";
    table.reset(new Table{std::move(changes), SQLite::Statement(target_.database(), sql),
                          target_.chunks().table(name)});
    return *table;
}

void RunCopier::copyRow(SQLite::Statement& row, const std::string& name, std::optional<std::int64_t> run)
{
    Table& table = tableOf(row, name);
    RowDigest digest;
    const std::int64_t id = name == "run" ? to_.run : table.chunks.takeId();
    for (std::size_t i = 0; i < table.changes.size(); ++i) {
        const int column = static_cast<int>(i);
        bindCell(table.insert, column + 1, cellOf(row, column, table.changes[i], id), digest);
    }
    table.insert.exec();
    table.insert.reset();
    target_.chunks().add(table.chunks, run, id, digest);
}

Cell RunCopier::cellOf(SQLite::Statement& row, int column, Changed change, std::int64_t id)
{
    switch (change) {
    case Changed::Id:
        return id;
    case Changed::Run:
        return to_.run;
    case Changed::FirstRange:
        return to_.firstRange;
    case Changed::FirstOp:
        return to_.firstOp;
    case Changed::Status:
        return died_ ? Cell(std::string_view("interrupted")) : cellAt(row, column);
    case Changed::Reason:
        return died_ ? Cell(std::string_view(kWriterKilled)) : cellAt(row, column);
    case Changed::Range:
        if (const auto range = integer(row, column))
            return *range - from_.firstRange + to_.firstRange;
        return {};
    case Changed::Text:
        if (const auto text = integer(row, column))
            return textOf(*text, false);
        return {};
    case Changed::Not:
        break;
    }
    return cellAt(row, column);
}

void RunCopier::copyCeilings()
{
    source_.use([&] {
        SQLite::Statement known(target_.database(), "select 1 from ceiling where device = ? and kind = ? and "
                                                    "measured = ? and value = ?");
        source_.eachSharedRow("ceiling", [&](SQLite::Statement& row) {
            known.bind(1, text(row, "device"));
            known.bind(2, text(row, "kind"));
            known.bind(3, row.getColumn("measured").getInt64());
            known.bind(4, row.getColumn("value").getDouble());
            const bool isKnown = known.executeStep();
            known.reset();
            if (!isKnown)
                copyRow(row, "ceiling", {});
        });
    });
}

void RunCopier::copyEvents(RunId run, EventKind kind)
{
    const std::size_t width = eventTable(kind).columns.size();
    std::array<ColumnRole, kMostColumns> roles{};
    for (std::size_t column = 0; column < width; ++column)
        roles[column] = roleOf(kind, column);
    EventCursor rows = source_.allOf(kind, run);
    RowAppender& appender = target_.appender(kind);
    std::array<std::int64_t, kMostColumns> values{};
    while (const std::int64_t* row = rows.next()) {
        // Values first: looking up a text may throw, and a row once begun must be whole.
        for (std::size_t column = 0; column < width; ++column)
            values[column] = row[column] == kNull ? kNull : moved(roles[column], row[column]);
        std::copy_n(values.begin(), width, appender.append());
    }
}

std::int64_t RunCopier::moved(ColumnRole role, std::int64_t value)
{
    switch (role) {
    case ColumnRole::Value:
    case ColumnRole::RowId: // the appender gives a new one
        return value;
    case ColumnRole::Run:
        return to_.run;
    case ColumnRole::Text:
    case ColumnRole::KernelName:
        return textOf(value, role == ColumnRole::KernelName);
    case ColumnRole::Launch: {
        const auto [place, isNew] = launches_.try_emplace(value, 0);
        if (isNew)
            place->second = target_.strings().launch(source_.launch(value));
        return place->second;
    }
    case ColumnRole::RangeId:
        return reserved(ranges_, value - from_.firstRange + to_.firstRange);
    case ColumnRole::OpId:
        return reserved(ops_, value - from_.firstOp + to_.firstOp);
    }
    return value;
}

/// A row may refer to a range or op that was not stored: no other run may get its number.
std::int64_t RunCopier::reserved(ChunkWriter::Table& table, std::int64_t id)
{
    table.reserve(id);
    return id;
}

std::int64_t RunCopier::textOf(std::int64_t id, bool isKernel)
{
    auto& known = isKernel ? kernels_ : texts_;
    const auto [place, isNew] = known.try_emplace(id, 0);
    if (isNew)
        place->second = isKernel ? target_.strings().internKernel(source_.text(id))
                                 : target_.strings().intern(source_.text(id));
    return place->second;
}

} // namespace tilescope::store
