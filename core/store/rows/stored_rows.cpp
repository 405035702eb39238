#include "core/store/rows/stored_rows.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/model/text.h"
#include "core/store/file/writer_lock.h"
#include "core/store/rows/columns.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace tilescope::store {

namespace {

constexpr std::size_t kMostDirectories = 1000; // of runs, in memory at a time

std::optional<Source> sourceNamed(std::string_view name)
{
    for (std::size_t i = 0; i < kSources; ++i)
        if (nameOf(static_cast<Source>(i)) == name)
            return static_cast<Source>(i);
    return {};
}

RunResult resultFrom(SQLite::Statement& row)
{
    RunResult result;
    result.reason = text(row, "reason");
    result.device = text(row, "device");
    result.parameters = integer(row, "parameters");
    result.beforeBackward = bytes(row, "before_backward");
    result.peakAllocated = bytes(row, "peak_allocated");
    result.peakReserved = bytes(row, "peak_reserved");
    result.traceOverhead = real(row, "trace_overhead");
    result.loss = real(row, "loss");
    if (!row.getColumn("oom_phase").isNull())
        result.oom = OomInfo{bytes(row, "oom_requested"), bytes(row, "oom_allocated"),
                             bytes(row, "oom_reserved"), text(row, "oom_phase")};
    const auto flags = nlohmann::json::parse(text(row, "flags"), nullptr, false);
    if (flags.is_array())
        for (const auto& flag : flags)
            result.flags.push_back(flag.is_string() ? flag.get<std::string>() : flag.dump());
    result.duration = Nanoseconds(integer(row, "duration").value_or(0));
    if (const auto offset = integer(row, "clock_offset_start"))
        result.clockOffsetStart = Nanoseconds(*offset);
    if (const auto offset = integer(row, "clock_offset_end"))
        result.clockOffsetEnd = Nanoseconds(*offset);
    return result;
}

RunRecord recordFrom(SQLite::Statement& row)
{
    return {.run = RunId{row.getColumn("id").getInt64()},
            .uid = text(row, "uid"),
            .name = text(row, "name"),
            .workload = text(row, "workload"),
            .specJson = text(row, "spec"),
            .specHash = text(row, "spec_hash"),
            .program = text(row, "program"),
            .startedUnixNs = row.getColumn("started").getInt64(),
            .clockOrigin = timestampAt(row.getColumn("clock_origin").getInt64()),
            .point = integer(row, "point"),
            .recordsChecked = row.getColumn("records_checked").getInt64(),
            .result = resultFrom(row),
            .note = text(row, "note"),
            .tag = text(row, "tag")};
}

} // namespace

std::vector<RunRecord> StoredRows::runs(std::optional<std::int64_t> only)
{
    std::vector<RunRecord> records;
    eachRun(only.value_or(std::numeric_limits<std::int64_t>::min()),
            only.value_or(std::numeric_limits<std::int64_t>::max()), [&records](RunRecord&& record) {
                records.push_back(std::move(record));
                return true;
            });
    return records;
}

void StoredRows::eachRun(std::int64_t first, std::int64_t last, const std::function<bool(RunRecord&&)>& take)
{
    // The last column is what the run's row should add up to.
    SQLite::Statement row(database(), "select *, (select checksum from chunk where chunk.run = run.id and "
                                      "source = 'run') from run where id between ? and ? order by id");
    row.bind(1, first);
    row.bind(2, last);
    const int columns = row.getColumnCount() - 1;
    std::optional<std::int64_t> before;
    std::optional<bool> written; // by a writer that lives
    while (row.executeStep()) {
        const std::optional<RunStatus> status = fromWord<RunStatus>(store::text(row, "status"));
        if (!status ||
            static_cast<std::int64_t>(digestOf(row, columns, Source::Run, connection.rule()).value()) !=
                row.getColumn(columns).getInt64())
            damaged("what it says of run " + row.getColumn(0).getString() + " is not as it was written");
        // Pages in each other's place: every row is whole, and a look-up by number would miss some.
        const std::int64_t id = row.getColumn(0).getInt64();
        if (before && id <= *before)
            damaged("its runs are not in their order");
        before = id;
        RunRecord record = recordFrom(row);
        record.result.status = *status;
        if (*status == RunStatus::Running) {
            // Looked at after the snapshot that says `running` was taken: a writer that ended since did so in
            // a later one.
            if (!written)
                written = WriterLock::isHeld(file());
            if (!*written) {
                record.result.status = RunStatus::Interrupted;
                record.result.reason = kWriterDied;
            }
        }
        if (!take(std::move(record)))
            return;
    }
}

std::vector<IdInterval> StoredRows::intervalsOf(SQLite::Statement& chunk, RunId run)
{
    ChunkDirectory directory;
    chunk.bind(1, run.value);
    while (chunk.executeStep()) {
        const auto number = [&chunk](int column) { return chunk.getColumn(column).getInt64(); };
        directory.add(number(0),
                      {.ids = {number(1), number(2), number(3), static_cast<std::uint64_t>(number(4))}});
    }
    chunk.reset();
    directory.arrange();
    return directory.all();
}

RowFrame StoredRows::frameOf(RunId run)
{
    SQLite::Statement row(database(), "select clock_origin, first_range, first_op from run where id = ?");
    row.bind(1, run.value);
    if (!row.executeStep())
        throw Error{.what = "no run " + std::to_string(run.value),
                    .where = file().string(),
                    .mend = "see its runs with `tilescope show " + shellPath(file()) + "`"};
    return {run.value, row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64()};
}

const ChunkDirectory& StoredRows::directory(RunId run, Source source)
{
    const std::int64_t edition = integerOf(database(), "select edition from file where id = 1");
    // Who goes through all runs of a file needs none of them twice.
    if (edition != edition_ || directories_.size() > kMostDirectories)
        directories_.clear();
    edition_ = edition;
    Directories& directories = directories_[run.value];
    if (directories.generation != connection.generation())
        refresh(run.value, directories);
    return directories.bySource[static_cast<std::size_t>(source)];
}

/// Chunks are only ever added within an edition: reads those that are new.
void StoredRows::refresh(std::int64_t run, Directories& directories)
{
    std::int64_t newest = 0;
    for (const ChunkDirectory& directory : directories.bySource)
        newest = std::max(newest, directory.newest());
    SQLite::Statement row(database(), "select source, id, first, last, rows, checksum, start, end from chunk "
                                      "where run = ? and id > ? order by id");
    row.bind(1, run);
    row.bind(2, newest);
    while (row.executeStep()) {
        const auto number = [&row](int column) { return row.getColumn(column).getInt64(); };
        const auto time = [&row, &number](int column) {
            return row.isColumnNull(column) ? kNull : number(column);
        };
        const auto source = sourceNamed(row.getColumn(0).getText());
        if (source)
            directories.bySource[static_cast<std::size_t>(*source)].add(
                number(1), {.ids = {number(2), number(3), number(4), static_cast<std::uint64_t>(number(5))},
                            .start = time(6),
                            .end = time(7)});
    }
    for (ChunkDirectory& directory : directories.bySource)
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
    return {connection, kind, directory(window.run, sourceOf(kind)).overlapping(rows.begin, rows.end), rows};
}

EventCursor StoredRows::allOf(EventKind kind, RunId run)
{
    return cursor(kind, {.run = run}, frameOf(run));
}

/// Kernels and copies lie in two tables, each in start order.
void StoredRows::eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take)
{
    const RowFrame frame = frameOf(window.run);
    EventCursor kernels = cursor(EventKind::Kernel, window, frame);
    EventCursor copies = cursor(EventKind::Copy, window, frame);
    const std::int64_t* kernel = kernels.next();
    const std::int64_t* copy = copies.next();
    const auto start = static_cast<std::size_t>(eventTable(EventKind::Kernel).start);
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
    const auto known = launches_.find(id);
    if (known != launches_.end())
        return known->second;
    SQLite::Statement row(database(), "select * from launch where id = ?");
    row.bind(1, id);
    if (!row.executeStep())
        damaged("a kernel was launched in a way that it does not hold");
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
    const auto known = values.find(id);
    if (known != values.end())
        return known->second;
    const std::string_view word = text(id);
    const auto words = wordsOf(set);
    const auto place = std::ranges::find(words, word);
    return values[id] = word.empty() || place == words.end() ? -1 : static_cast<int>(place - words.begin());
}

std::string_view StoredRows::text(std::int64_t id)
{
    const auto known = texts_.find(id);
    if (known != texts_.end())
        return known->second;
    SQLite::Statement row(database(), "select text from string where id = ?");
    row.bind(1, id);
    if (!row.executeStep())
        damaged("it lacks the text " + std::to_string(id));
    return texts_[id] = store::text(row, "text");
}

} // namespace tilescope::store
