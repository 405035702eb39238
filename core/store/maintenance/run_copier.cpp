#include "core/store/maintenance/run_copier.h"

#include "core/store/rows/columns.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/tracks/track_writer.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
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

/// Tables other than event tables that have rows of one run.
constexpr Source kTables[] = {Source::Environment,   Source::Sample,        Source::Loss,
                              Source::Thread,        Source::Counter,       Source::MemoryBlock,
                              Source::MemorySegment, Source::MemoryReading, Source::SavedTensor,
                              Source::CodePlace,     Source::Clock,         Source::Process,
                              Source::Device,        Source::Stream,        Source::Collective,
                              Source::Wait,          Source::CounterTrack};

/// A transaction costs about as much as a hundred rows.
constexpr std::int64_t kRowsOfATransaction = 10'000;

} // namespace

RunCopier::Changed RunCopier::changeOf(Source source, std::string_view column)
{
    if (column == "id")
        return Changed::Id;
    if (column == "run")
        return Changed::Run;
    switch (source) {
    case Source::Run:
        return column == "first_range" ? Changed::FirstRange
               : column == "first_op"  ? Changed::FirstOp
               : column == "status"    ? Changed::Status
               : column == "reason"    ? Changed::Reason
                                       : Changed::Not;
    case Source::Thread:
        return column == "name" ? Changed::Text : Changed::Not;
    case Source::CounterTrack:
        return column == "name" || column == "unit" ? Changed::Text : Changed::Not;
    case Source::CodePlace:
        return column == "path" || column == "file" || column == "function" ? Changed::Text : Changed::Not;
    case Source::Collective:
        return column == "range" ? Changed::Range
               : column == "op" || column == "grp" || column == "ranks" || column == "dtype" ||
                       column == "path"
                   ? Changed::Text
                   : Changed::Not;
    default:
        return Changed::Not;
    }
}

/// How the rows of a table are copied.
struct RunCopier::Table {
    std::vector<Changed> changes; ///< by column
    SQLite::Statement insert;
};

RunCopier::RunCopier(StoredRows& source, WritableFile& target) : source_(source), target_(target) {}

RunCopier::~RunCopier() = default;

std::int64_t RunCopier::copy(RunId run, std::optional<std::int64_t> number)
{
    return source_.use([&] {
        try {
            target_.begin();
            target_.query("savepoint run")->exec();
            const std::int64_t copied = copyRows(run, number);
            target_.flush();
            target_.query("release run")->exec();
            if (rows_ >= kRowsOfATransaction) {
                target_.commit();
                rows_ = 0;
            }
            return copied;
        } catch (const SQLite::Exception& exception) {
            keepRunsBefore();
            // An error while reading is the source's; any other error is the target's.
            const int code = exception.getErrorCode();
            const bool reading = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
            throw translated(exception, reading ? source_.file() : target_.file());
        } catch (...) {
            keepRunsBefore();
            throw;
        }
    });
}

/// Ends a transaction in which a run failed. The target's books in memory count rows of that run, so they are not
/// written.
void RunCopier::keepRunsBefore() noexcept
{
    target_.database().tryExec("rollback to run");
    target_.database().tryExec("commit");
}

std::int64_t RunCopier::copyRows(RunId run, std::optional<std::int64_t> number)
{
    const std::int64_t copied = copyRunRow(run, number);
    const std::bitset<kSources> present = source_.sourcesOf(run);
    const auto has = [&present](Source source) { return present[static_cast<std::size_t>(source)]; };
    for (const Source source : kTables)
        if (has(source))
            source_.eachRow(run, source, [&](SQLite::Statement& row) { copyRow(row, source, copied); });
    bool hasEvents = false;
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
        if (has(sourceOf(static_cast<EventKind>(kind)))) {
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
    RowLedger& ledger = target_.ledger();
    from_ = source_.frameOf(run);
    to_ = {.run = number.value_or(ledger.nextId(Source::Run)),
           .clockOrigin = from_.clockOrigin,
           .firstRange = ledger.nextId(Source::Range),
           .firstOp = ledger.nextId(Source::Op)};
    ledger.reserve(Source::Run, to_.run);
    const StatementCache::Loan row = source_.connection.query("select * from run where id = ?");
    row->bind(1, run.value);
    row->executeStep();
    died_ = text(*row, "status") == "running";
    copyRow(*row, Source::Run, to_.run);
    return to_.run;
}

RunCopier::Table& RunCopier::tableOf(SQLite::Statement& row, Source source)
{
    std::unique_ptr<Table>& table = tables_[static_cast<std::size_t>(source)];
    if (table)
        return *table;
    std::vector<Changed> changes;
    std::string names;
    std::string marks;
    for (int i = 0; i < row.getColumnCount(); ++i) {
        const char* name = row.getColumnName(i);
        changes.push_back(changeOf(source, name));
        names.append(i == 0 ? "" : ", ").append(name);
        marks += i == 0 ? "?" : ", ?";
    }
    const std::string sql =
        "insert into " + std::string(nameOf(source)) + " (" + names + ") values (" + marks + ")";
    table.reset(new Table{std::move(changes), SQLite::Statement(target_.database(), sql)});
    return *table;
}

void RunCopier::copyRow(SQLite::Statement& row, Source source, std::optional<std::int64_t> run)
{
    Table& table = tableOf(row, source);
    RowLedger& ledger = target_.ledger();
    RowDigest digest(ledger.rule());
    const std::int64_t id = source == Source::Run ? to_.run : ledger.takeId(source);
    for (std::size_t i = 0; i < table.changes.size(); ++i) {
        const int column = static_cast<int>(i);
        bindCell(table.insert, column + 1, cellOf(row, column, table.changes[i], id), source, digest);
    }
    table.insert.exec();
    table.insert.reset();
    ledger.add(source, run, id, digest);
    ++rows_;
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
        return died_ ? Cell(std::string_view(kWriterDied)) : cellAt(row, column);
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
        target_.begin();
        SQLite::Statement known(target_.database(), "select 1 from ceiling where device = ? and kind = ? and "
                                                    "measured = ? and value = ?");
        source_.eachSharedRow(Source::Ceiling, [&](SQLite::Statement& row) {
            known.bind(1, text(row, "device"));
            known.bind(2, text(row, "kind"));
            known.bind(3, row.getColumn("measured").getInt64());
            known.bind(4, row.getColumn("value").getDouble());
            const bool isKnown = known.executeStep();
            known.reset();
            if (!isKnown)
                copyRow(row, Source::Ceiling, {});
        });
        target_.commit();
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
        ++rows_;
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
        return reserved(Source::Range, value - from_.firstRange + to_.firstRange);
    case ColumnRole::OpId:
        return reserved(Source::Op, value - from_.firstOp + to_.firstOp);
    }
    return value;
}

/// A row may refer to a range or op that was not stored: no other run may get its number.
std::int64_t RunCopier::reserved(Source source, std::int64_t id)
{
    target_.ledger().reserve(source, id);
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
