#include "core/store/rows/stored_rows.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/model/text.h"
#include "core/store/file/writer_lock.h"
#include "core/store/rows/columns.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace tilescope::store {

namespace {

constexpr std::size_t kMostDirectories = 1000; // of runs, in memory at a time
constexpr std::int64_t kFirstRun = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLastRun = std::numeric_limits<std::int64_t>::max();

/// The numbers of the columns of `run`: a file may have many runs.
struct RunColumns {
    SQLite::Statement& row;
    int beforeBackward = row.getColumnIndex("before_backward");
    int clockOffsetEnd = row.getColumnIndex("clock_offset_end");
    int clockOffsetStart = row.getColumnIndex("clock_offset_start");
    int clockOrigin = row.getColumnIndex("clock_origin");
    int device = row.getColumnIndex("device");
    int duration = row.getColumnIndex("duration");
    int flags = row.getColumnIndex("flags");
    int id = row.getColumnIndex("id");
    int loss = row.getColumnIndex("loss");
    int name = row.getColumnIndex("name");
    int note = row.getColumnIndex("note");
    int oomAllocated = row.getColumnIndex("oom_allocated");
    int oomPhase = row.getColumnIndex("oom_phase");
    int oomRequested = row.getColumnIndex("oom_requested");
    int oomReserved = row.getColumnIndex("oom_reserved");
    int parameters = row.getColumnIndex("parameters");
    int peakAllocated = row.getColumnIndex("peak_allocated");
    int peakReserved = row.getColumnIndex("peak_reserved");
    int point = row.getColumnIndex("point");
    int program = row.getColumnIndex("program");
    int reason = row.getColumnIndex("reason");
    int recordsChecked = row.getColumnIndex("records_checked");
    int spec = row.getColumnIndex("spec");
    int specHash = row.getColumnIndex("spec_hash");
    int started = row.getColumnIndex("started");
    int tag = row.getColumnIndex("tag");
    int traceOverhead = row.getColumnIndex("trace_overhead");
    int uid = row.getColumnIndex("uid");
    int workload = row.getColumnIndex("workload");
};

/// Files of earlier versions have one number, that of the last step.
std::vector<std::optional<double>> lossesFrom(const SQLite::Column& column)
{
    std::vector<std::optional<double>> losses;
    if (!column.isText())
        return column.isNull() ? losses : std::vector{std::optional(column.getDouble())};
    const auto list = nlohmann::json::parse(column.getString(), nullptr, false);
    if (list.is_array())
        for (const auto& loss : list)
            losses.push_back(loss.is_number() ? std::optional(loss.get<double>()) : std::nullopt);
    return losses;
}

RunResult resultFrom(SQLite::Statement& row, const RunColumns& at)
{
    RunResult result;
    result.reason = text(row, at.reason);
    result.device = text(row, at.device);
    result.parameters = integer(row, at.parameters);
    result.beforeBackward = bytes(row, at.beforeBackward);
    result.peakAllocated = bytes(row, at.peakAllocated);
    result.peakReserved = bytes(row, at.peakReserved);
    result.traceOverhead = real(row, at.traceOverhead);
    result.losses = lossesFrom(row.getColumn(at.loss));
    if (!row.getColumn(at.oomPhase).isNull())
        result.oom = OomInfo{bytes(row, at.oomRequested), bytes(row, at.oomAllocated),
                             bytes(row, at.oomReserved), text(row, at.oomPhase)};
    if (const std::string text = store::text(row, at.flags); text != "[]") {
        const auto flags = nlohmann::json::parse(text, nullptr, false);
        if (flags.is_array())
            for (const auto& flag : flags)
                result.flags.push_back(flag.is_string() ? flag.get<std::string>() : flag.dump());
    }
    result.duration = Nanoseconds(integer(row, at.duration).value_or(0));
    if (const auto offset = integer(row, at.clockOffsetStart))
        result.clockOffsetStart = Nanoseconds(*offset);
    if (const auto offset = integer(row, at.clockOffsetEnd))
        result.clockOffsetEnd = Nanoseconds(*offset);
    return result;
}

RunRecord recordFrom(SQLite::Statement& row, const RunColumns& at)
{
    return {.run = RunId{row.getColumn(at.id).getInt64()},
            .uid = text(row, at.uid),
            .name = text(row, at.name),
            .workload = text(row, at.workload),
            .specJson = text(row, at.spec),
            .specHash = text(row, at.specHash),
            .program = text(row, at.program),
            .startedUnixNs = row.getColumn(at.started).getInt64(),
            .clockOrigin = timestampAt(row.getColumn(at.clockOrigin).getInt64()),
            .point = integer(row, at.point),
            .recordsChecked = row.getColumn(at.recordsChecked).getInt64(),
            .result = resultFrom(row, at),
            .note = text(row, at.note),
            .tag = text(row, at.tag)};
}

} // namespace

std::vector<RunRecord> StoredRows::runs(std::optional<std::int64_t> only)
{
    std::vector<RunRecord> records;
    eachRun(only.value_or(kFirstRun), only.value_or(kLastRun), [&records](RunRecord&& record) {
        records.push_back(std::move(record));
        return true;
    });
    return records;
}

std::vector<RunId> StoredRows::runIds()
{
    std::vector<RunId> ids;
    const StatementCache::Handle row = connection.query(
        "select run.id, chunk.id from run left join chunk on chunk.run = run.id and chunk.source = 'run' "
        "order by run.id");
    while (row->executeStep()) {
        const RunId id{row->getColumn(0).getInt64()};
        if (!ids.empty() && id <= ids.back())
            damaged("its runs are not in their order");
        if (row->getColumn(1).isNull() && connection.hasChecksums())
            damaged("the row of run " + row->getColumn(0).getString() + " is not as it was written");
        ids.push_back(id);
    }
    requireRuns(kFirstRun, kLastRun, std::ssize(ids));
    return ids;
}

/// A damaged page can lose the row of a run, or give it another number, with all else intact.
void StoredRows::requireRuns(std::int64_t first, std::int64_t last, std::int64_t found)
{
    if (!connection.hasChecksums())
        return;
    const StatementCache::Handle written =
        connection.query("select count(*) from chunk where source = 'run' and run between ? and ?");
    written->bind(1, first);
    written->bind(2, last);
    if (const std::int64_t runs = integerOf(*written); runs != found)
        damaged(counted(runs, "run") + (runs == 1 ? " was" : " were") + " written, " + std::to_string(found) +
                (found == 1 ? " is" : " are") + " there");
}

void StoredRows::eachRun(std::int64_t first, std::int64_t last, const std::function<bool(RunRecord&&)>& take)
{
    const StatementCache::Handle query =
        connection.query(std::string("select ") + kChunkColumns +
                         ", run.* from run left join chunk on chunk.run = run.id and chunk.source = 'run' "
                         "where run.id between ? and ? order by run.id");
    SQLite::Statement& row = *query;
    row.bind(1, first);
    row.bind(2, last);
    const int columns = row.getColumnCount() - kChunkColumnCount;
    const RunColumns at{row};
    const int statusColumn = row.getColumnIndex("status");
    std::optional<std::int64_t> before;
    std::int64_t found = 0;
    std::optional<bool> written; // by a writer that lives
    while (row.executeStep()) {
        const std::optional<RunStatus> status = fromWord<RunStatus>(store::text(row, statusColumn));
        if (!status || (connection.hasChecksums() &&
                        digestOf(row, columns, kChunkColumnCount).value() != chunkAt(row).sum))
            damaged("the row of run " + row.getColumn(at.id).getString() + " is not as it was written");
        // Pages in each other's place: every row is whole, and a look-up by number would miss some.
        const std::int64_t id = row.getColumn(at.id).getInt64();
        if (before && id <= *before)
            damaged("its runs are not in their order");
        before = id;
        ++found;
        RunRecord record = recordFrom(row, at);
        record.result.status = *status;
        if (*status == RunStatus::Running) {
            // Checked after the snapshot that contains `running` was taken, so a writer that has ended since
            // did so in a later one.
            if (!written)
                written = WriterLock::isHeld(file());
            if (!*written) {
                record.result.status = RunStatus::Interrupted;
                record.result.reason = kWriterKilled;
            }
        }
        if (!take(std::move(record)))
            return;
    }
    requireRuns(first, last, found);
}

std::vector<IdInterval> StoredRows::intervalsOf(SQLite::Statement& chunk)
{
    ChunkDirectory directory;
    while (chunk.executeStep())
        directory.add(chunkAt(chunk));
    chunk.reset();
    directory.arrange();
    return directory.all();
}

RowFrame StoredRows::frameOf(RunId run)
{
    const StatementCache::Handle row =
        connection.query("select clock_origin, first_range, first_op from run where id = ?");
    row->bind(1, run.value);
    if (!row->executeStep())
        throw Error{.what = "no run " + std::to_string(run.value),
                    .where = file().string(),
                    .remedy = "see its runs with `tilescope show " + shellPath(file()) + "`"};
    return {run.value, row->getColumn(0).getInt64(), row->getColumn(1).getInt64(),
            row->getColumn(2).getInt64()};
}

const ChunkDirectory& StoredRows::directory(RunId run, std::string_view table)
{
    const std::int64_t edition = integerOf(*connection.query("select edition from file where id = 1"));
    // Who goes through all runs of a file needs none of them twice.
    if (edition != edition_ || directories_.size() > kMostDirectories)
        directories_.clear();
    edition_ = edition;
    Directories& directories = directories_[run.value];
    if (directories.generation != connection.generation())
        refresh(run.value, directories);
    static const ChunkDirectory noRows;
    const auto found = directories.byTable.find(table);
    return found == directories.byTable.end() ? noRows : found->second;
}

std::vector<std::string> StoredRows::tablesOf(RunId run)
{
    const StatementCache::Handle query =
        connection.query("select distinct source from chunk where run = ? order by source");
    query->bind(1, run.value);
    std::vector<std::string> tables;
    while (query->executeStep())
        tables.push_back(query->getColumn(0).getString());
    return tables;
}

/// Chunks are only ever added within an edition: reads those that are new.
void StoredRows::refresh(std::int64_t run, Directories& directories)
{
    std::int64_t newest = 0;
    for (const auto& [table, directory] : directories.byTable)
        newest = std::max(newest, directory.newest());
    const StatementCache::Handle chunk = connection.query(std::string("select ") + kChunkColumns +
                                                          " from chunk where run = ? and id > ? order by id");
    chunk->bind(1, run);
    chunk->bind(2, newest);
    while (chunk->executeStep()) {
        const Chunk added = chunkAt(*chunk);
        directories.byTable[added.table].add(added);
    }
    for (auto& [table, directory] : directories.byTable)
        directory.arrange();
    directories.generation = connection.generation();
}

EventCursor StoredRows::cursor(EventKind kind, const EventWindow& window, const RowFrame& frame)
{
    // Saturated: the widest window means all.
    const auto relative = [&frame](Timestamp time) {
        std::int64_t result = 0;
        if (__builtin_sub_overflow(nanosecondsOf(time), frame.clockOrigin, &result))
            result = time < Timestamp{} ? std::numeric_limits<std::int64_t>::min()
                                        : std::numeric_limits<std::int64_t>::max();
        return result;
    };
    const RowWindow rows{window.run.value, relative(window.from), relative(window.to), window.step};
    return {connection, kind, directory(window.run, eventTable(kind).name).overlapping(rows.begin, rows.end),
            rows};
}

EventCursor StoredRows::allOf(EventKind kind, RunId run)
{
    return cursor(kind, {.run = run}, frameOf(run));
}

/// Kernels and copies are in two tables, each in start order.
void StoredRows::eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take)
{
    const RowFrame frame = frameOf(window.run);
    EventCursor kernels = cursor(EventKind::Kernel, window, frame);
    EventCursor copies = cursor(EventKind::Copy, window, frame);
    const std::int64_t* kernel = kernels.next();
    const std::int64_t* copy = copies.next();
    constexpr std::size_t start = EventTable::start;
    while (kernel || copy) {
        const bool kernelFirst = kernel && (!copy || kernel[start] <= copy[start]);
        if (!take(kernelFirst ? kernelFrom(kernel, frame, *this) : copyFrom(copy, frame, *this)))
            return;
        if (kernelFirst)
            kernel = kernels.next();
        else
            copy = copies.next();
    }
}

const LaunchConfig& StoredRows::launch(std::int64_t id)
{
    if (lastLaunch_ && lastLaunch_->first == id)
        return lastLaunch_->second;
    const auto known = launches_.find(id);
    if (known != launches_.end()) {
        lastLaunch_ = &*known;
        return known->second;
    }
    const StatementCache::Handle query = connection.query("select * from launch where id = ?");
    SQLite::Statement& row = *query;
    row.bind(1, id);
    if (!row.executeStep())
        damaged("a kernel refers to a missing launch configuration");
    const auto number = [&row](const char* column) { return row.getColumn(column).getUInt(); };
    return launches_[id] = {{number("grid_x"), number("grid_y"), number("grid_z")},
                            {number("block_x"), number("block_y"), number("block_z")},
                            {number("cluster_x"), number("cluster_y"), number("cluster_z")},
                            number("registers"),
                            number("static_shared"),
                            number("dynamic_shared"),
                            number("local")};
}

int StoredRows::value(WordSet set, std::int64_t id)
{
    auto& values = values_[static_cast<std::size_t>(set)];
    // Few differ: looking through them is quicker than a hash.
    for (const auto& [known, value] : values)
        if (known == id)
            return value;
    const std::string_view word = text(id);
    const auto words = wordsOf(set);
    const auto place = std::ranges::find(words, word);
    const int value = word.empty() || place == words.end() ? -1 : static_cast<int>(place - words.begin());
    constexpr std::size_t kMostKept = 2 * kMostWords; // a damaged file may have any number
    if (values.size() < kMostKept)
        values.emplace_back(id, value);
    return value;
}

/// Compares the texts of a chunk with its checksum when the first of them is read. Names of a damaged page would otherwise
/// stand in tables as if they had been recorded.
void StoredRows::requireTexts(std::int64_t id)
{
    const auto behind = checkedTexts_.upper_bound(id);
    if (!connection.hasChecksums() || (behind != checkedTexts_.begin() && std::prev(behind)->second >= id))
        return;
    std::optional<IdInterval> ids = textChunks_.around(id);
    if (!ids) {
        const StatementCache::Handle chunk =
            connection.query(std::string("select ") + kChunkColumns +
                             " from chunk where run is null and source = 'string' and id > ?");
        chunk->bind(1, textChunks_.newest());
        while (chunk->executeStep())
            textChunks_.add(chunkAt(*chunk));
        textChunks_.arrange();
        ids = textChunks_.around(id);
    }
    if (!ids)
        damaged("it lacks the text " + std::to_string(id));
    const StatementCache::Handle query =
        connection.query("select * from string where id between ? and ? order by id");
    SQLite::Statement& row = *query;
    row.bind(1, ids->first);
    row.bind(2, ids->last);
    const int columns = row.getColumnCount();
    std::int64_t rows = 0;
    std::uint64_t sum = 0;
    for (; row.executeStep(); ++rows)
        sum += digestOf(row, columns).value();
    if (rows != ids->rows || sum != ids->sum)
        damaged("the rows of the table string are not as they were written");
    checkedTexts_[ids->first] = ids->last;
}

std::string_view StoredRows::text(std::int64_t id)
{
    const auto known = texts_.find(id);
    if (known != texts_.end())
        return known->second;
    requireTexts(id);
    const StatementCache::Handle query = connection.query("select text from string where id = ?");
    SQLite::Statement& row = *query;
    row.bind(1, id);
    if (!row.executeStep())
        damaged("it lacks the text " + std::to_string(id));
    return texts_[id] = store::text(row, "text");
}

} // namespace tilescope::store
