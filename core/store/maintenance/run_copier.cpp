#include "core/store/maintenance/run_copier.h"

#include "core/store/rows/columns.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/tracks/track_writer.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace tilescope::store {

namespace {

/// Inserts a copy of the current row of `row`, with some of its columns changed.
class RowCopy {
public:
    RowCopy(SQLite::Statement& row, std::string_view table) : row_(row)
    {
        std::string names;
        std::string marks;
        for (int i = 0; i < row.getColumnCount(); ++i) {
            names.append(i == 0 ? "" : ", ").append(row.getColumnName(i));
            marks += i == 0 ? "?" : ", ?";
        }
        sql_ = "insert into " + std::string(table) + " (" + names + ") values (" + marks + ")";
    }

    /// Other values for columns, by name.
    struct Change {
        const char* column;
        Cell cell;
    };

    void insert(WritableFile& target, Source source, std::optional<std::int64_t> run,
                std::span<const Change> changes)
    {
        RowLedger& ledger = target.ledger();
        const StatementCache::Loan insert = target.query(sql_);
        RowDigest digest(ledger.rule());
        std::int64_t id = 0;
        for (int i = 0; i < row_.getColumnCount(); ++i) {
            const auto change = std::ranges::find_if(changes, [&](const Change& each) {
                return std::string_view(each.column) == row_.getColumnName(i);
            });
            bindCell(*insert, i + 1, change == changes.end() ? cellAt(i) : change->cell, source, digest);
            if (i == 0)
                id = std::get<std::int64_t>(change == changes.end() ? cellAt(0) : change->cell);
        }
        insert->exec();
        ledger.add(source, run, id, digest);
    }

private:
    Cell cellAt(int column)
    {
        const SQLite::Column value = row_.getColumn(column);
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

    SQLite::Statement& row_;
    std::string sql_;
};

/// Columns that refer to strings, in tables other than event tables.
std::vector<const char*> textColumnsOf(Source source)
{
    if (source == Source::Thread)
        return {"name"};
    if (source == Source::CodePlace)
        return {"path", "file", "function"};
    if (source == Source::Collective)
        return {"op", "grp", "ranks", "dtype", "path"};
    return {};
}

} // namespace

std::int64_t RunCopier::copy(RunId run, std::optional<std::int64_t> number)
{
    return source_.use([&] {
        try {
            target_.begin();
            const std::int64_t copied = copyRunRow(run, number);
            for (const Source source :
                 {Source::Environment, Source::Sample, Source::Loss, Source::Thread, Source::Counter,
                  Source::MemoryBlock, Source::MemorySegment, Source::MemoryReading, Source::SavedTensor,
                  Source::CodePlace, Source::Clock, Source::Process, Source::Device, Source::Stream,
                  Source::Collective, Source::Wait})
                copyRows(run, source);
            for (std::size_t kind = 0; kind < kEventKinds; ++kind)
                copyEvents(run, static_cast<EventKind>(kind));
            target_.flush();
            TrackWriter(target_, copied).write();
            target_.commit();
            return copied;
        } catch (const SQLite::Exception& exception) {
            // What cannot be read is the source's, anything else the target's.
            const int code = exception.getErrorCode();
            const bool reading = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
            throw translated(exception, reading ? source_.file() : target_.file());
        }
    });
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
    const StatementCache::Loan query = source_.connection.query("select * from run where id = ?");
    SQLite::Statement& row = *query;
    row.bind(1, run.value);
    row.executeStep();
    std::vector<RowCopy::Change> changes{
        {"id", to_.run}, {"first_range", to_.firstRange}, {"first_op", to_.firstOp}};
    if (text(row, "status") == "running") {
        changes.push_back({"status", std::string_view("interrupted")});
        changes.push_back({"reason", std::string_view(kWriterDied)});
    }
    RowCopy(row, "run").insert(target_, Source::Run, to_.run, changes);
    target_.updateRunChecksum(to_.run);
    return to_.run;
}

void RunCopier::copyRows(RunId run, Source source)
{
    RowLedger& ledger = target_.ledger();
    std::optional<RowCopy> copy;
    source_.eachRow(run, source, [&](SQLite::Statement& row) {
        if (!copy)
            copy.emplace(row, nameOf(source));
        std::vector<RowCopy::Change> changes{{"id", ledger.takeId(source)}, {"run", to_.run}};
        if (source == Source::Collective)
            if (const auto range = integer(row, "range"))
                changes.push_back({"range", *range - from_.firstRange + to_.firstRange});
        for (const char* column : textColumnsOf(source))
            if (const auto text = integer(row, column))
                changes.push_back({column, textOf(*text, false)});
        copy->insert(target_, source, to_.run, changes);
    });
}

void RunCopier::copyCeilings()
{
    source_.use([&] {
        target_.begin();
        SQLite::Statement known(target_.database(), "select 1 from ceiling where device = ? and kind = ? and "
                                                    "measured = ? and value = ?");
        std::optional<RowCopy> copy;
        source_.eachSharedRow(Source::Ceiling, [&](SQLite::Statement& row) {
            known.bind(1, text(row, "device"));
            known.bind(2, text(row, "kind"));
            known.bind(3, row.getColumn("measured").getInt64());
            known.bind(4, row.getColumn("value").getDouble());
            const bool isKnown = known.executeStep();
            known.reset();
            if (isKnown)
                return;
            if (!copy)
                copy.emplace(row, nameOf(Source::Ceiling));
            const std::int64_t id = target_.ledger().takeId(Source::Ceiling);
            const RowCopy::Change changes[] = {{"id", id}};
            copy->insert(target_, Source::Ceiling, {}, changes);
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
