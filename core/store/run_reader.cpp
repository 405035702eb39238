#include "core/store/run_reader.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "core/store/database.h"
#include "core/store/event_rows.h"
#include "core/store/file_check.h"
#include "core/store/row_ledger.h"
#include "core/store/schema.h"
#include "core/store/writer_lock.h"

#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <unordered_map>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

/// Ids from `first` to `last`, both included.
struct IdInterval {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

struct ChunkSpan {
    IdInterval ids;
    std::int64_t start = kNull;
    std::int64_t end = kNull;
};

std::optional<std::int64_t> integer(SQLite::Statement& row, int column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getInt64());
}

std::optional<Bytes> bytes(SQLite::Statement& row, int column)
{
    const auto value = integer(row, column);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
}

std::optional<double> real(SQLite::Statement& row, int column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getDouble());
}

std::string text(SQLite::Statement& row, int column)
{
    return row.getColumn(column).getString();
}

/// Overlapping and touching intervals made one.
std::vector<IdInterval> merged(std::vector<IdInterval> intervals)
{
    std::ranges::sort(intervals, {}, &IdInterval::first);
    std::vector<IdInterval> result;
    for (const IdInterval& interval : intervals)
        if (!result.empty() && interval.first <= result.back().last + 1)
            result.back().last = std::max(result.back().last, interval.last);
        else
            result.push_back(interval);
    return result;
}

} // namespace

class RunReader::Impl final : public RowResolver {
public:
    explicit Impl(fs::path path) : file(std::move(path))
    {
        const auto migrations = embeddedMigrations();
        const FileHeader header = requireTilescopeFile(file, static_cast<int>(migrations.size()));
        database = openForReading(file, header);
        requireOurSchema(*database, file, header.version, migrations);
        prepareForReading(*database, header.version, migrations);
    }

    std::vector<RunRecord> runs(std::optional<std::int64_t> only);
    RowFrame frameOf(RunId run);
    std::vector<ChunkSpan> chunksOf(RunId run, Source source);
    std::vector<IdInterval> idsOf(RunId run, Source source);
    /// Rows of a table that is no event table; `columns` after id and run.
    template <class Take> void eachRow(RunId run, Source source, const char* columns, Take&& take);
    template <class Record, class From>
    std::vector<Record> events(EventKind kind, const EventWindow& window, From&& from);

    const LaunchConfig& launch(std::int64_t id) override;
    int value(WordSet set, std::int64_t id) override;
    std::string_view text(std::int64_t id);

    const fs::path file;
    std::unique_ptr<SQLite::Database> database;

private:
    std::unordered_map<std::int64_t, std::string> texts_;
    std::unordered_map<std::int64_t, LaunchConfig> launches_;
    std::array<std::unordered_map<std::int64_t, int>, kWordSets> values_;
};

std::vector<RunRecord> RunReader::Impl::runs(std::optional<std::int64_t> only)
{
    SQLite::Statement row(
        *database,
        std::string("select id, uid, name, workload, spec, spec_hash, program, started, note, tag, "
                    "status, reason, device, parameters, before_backward, peak_allocated, "
                    "peak_reserved, trace_overhead, loss, oom_requested, oom_allocated, oom_reserved, "
                    "oom_phase, flags, duration, clock_origin, records_checked from run ") +
            (only ? "where id = ?" : "order by id"));
    if (only)
        row.bind(1, *only);
    std::vector<RunRecord> records;
    while (row.executeStep()) {
        RunRecord record{.run = RunId{row.getColumn(0).getInt64()},
                         .uid = store::text(row, 1),
                         .name = store::text(row, 2),
                         .workload = store::text(row, 3),
                         .specJson = store::text(row, 4),
                         .specHash = store::text(row, 5),
                         .program = store::text(row, 6),
                         .startedUnixNs = row.getColumn(7).getInt64(),
                         .clockOrigin = timestampAt(row.getColumn(25).getInt64()),
                         .recordsChecked = row.getColumn(26).getInt64(),
                         .note = store::text(row, 8),
                         .tag = store::text(row, 9)};
        RunResult& result = record.result;
        const std::optional<RunStatus> status = fromWord<RunStatus>(store::text(row, 10));
        if (!status)
            throw Error{.what = "the file is damaged: run " + std::to_string(record.run.value) +
                                " has the status '" + store::text(row, 10) + "'",
                        .where = file.string(),
                        .mend = "see with `tilescope verify` what is left"};
        result.status = *status;
        result.reason = store::text(row, 11);
        result.device = store::text(row, 12);
        result.parameters = integer(row, 13);
        result.beforeBackward = bytes(row, 14);
        result.peakAllocated = bytes(row, 15);
        result.peakReserved = bytes(row, 16);
        result.traceOverhead = real(row, 17);
        result.loss = real(row, 18);
        if (!row.getColumn(22).isNull())
            result.oom = OomInfo{bytes(row, 19), bytes(row, 20), bytes(row, 21), store::text(row, 22)};
        const auto flags = nlohmann::json::parse(store::text(row, 23), nullptr, false);
        if (flags.is_array())
            for (const auto& flag : flags)
                result.flags.push_back(flag.is_string() ? flag.get<std::string>() : flag.dump());
        result.duration = Nanoseconds(integer(row, 24).value_or(0));
        records.push_back(std::move(record));
    }
    const bool orphans = std::ranges::any_of(
        records, [](const RunRecord& record) { return record.result.status == RunStatus::Running; });
    if (orphans && !WriterLock::isHeld(file))
        for (RunRecord& record : records)
            if (record.result.status == RunStatus::Running) {
                record.result.status = RunStatus::Interrupted;
                record.result.reason = "its writer died";
            }
    return records;
}

RowFrame RunReader::Impl::frameOf(RunId run)
{
    SQLite::Statement row(*database, "select clock_origin, first_range, first_op from run where id = ?");
    row.bind(1, run.value);
    if (!row.executeStep())
        throw Error{.what = "no run " + std::to_string(run.value),
                    .where = file.string(),
                    .mend = "see its runs with `tilescope show " + file.string() + "`"};
    return {run.value, row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64()};
}

std::vector<ChunkSpan> RunReader::Impl::chunksOf(RunId run, Source source)
{
    SQLite::Statement row(*database,
                          "select first, last, start, end from chunk where run = ? and source = ?");
    row.bind(1, run.value);
    row.bind(2, nameOf(source).data());
    std::vector<ChunkSpan> chunks;
    while (row.executeStep())
        chunks.push_back({{row.getColumn(0).getInt64(), row.getColumn(1).getInt64()},
                          integer(row, 2).value_or(kNull),
                          integer(row, 3).value_or(kNull)});
    return chunks;
}

std::vector<IdInterval> RunReader::Impl::idsOf(RunId run, Source source)
{
    std::vector<IdInterval> ids;
    for (const ChunkSpan& chunk : chunksOf(run, source))
        ids.push_back(chunk.ids);
    return merged(std::move(ids));
}

template <class Take>
void RunReader::Impl::eachRow(RunId run, Source source, const char* columns, Take&& take)
{
    SQLite::Statement row(*database, std::string("select ") + columns + " from " + nameOf(source).data() +
                                         " where id between ? and ? and run = ? order by id");
    for (const IdInterval& ids : idsOf(run, source)) {
        row.bind(1, ids.first);
        row.bind(2, ids.last);
        row.bind(3, run.value);
        while (row.executeStep())
            take(row);
        row.reset();
    }
}

template <class Record, class From>
std::vector<Record> RunReader::Impl::events(EventKind kind, const EventWindow& window, From&& from)
{
    const EventTable& table = eventTable(kind);
    const RowFrame frame = frameOf(window.run);
    // Saturated: the widest window means all.
    const auto relative = [&frame](Timestamp time) {
        std::int64_t result = 0;
        if (__builtin_sub_overflow(nanosecondsOf(time), frame.clockOrigin, &result))
            result = time < Timestamp{} ? std::numeric_limits<std::int64_t>::min()
                                        : std::numeric_limits<std::int64_t>::max();
        return result;
    };
    const std::int64_t begin = relative(window.from);
    const std::int64_t end = relative(window.to);

    std::vector<IdInterval> intervals;
    for (const ChunkSpan& chunk : chunksOf(window.run, sourceOf(kind)))
        if (chunk.start < end && chunk.end >= begin)
            intervals.push_back(chunk.ids);

    std::string sql = "select ";
    for (const std::string_view column : table.columns)
        sql.append(column == "id" ? "" : ", ").append(column);
    sql.append(" from ").append(table.name).append(" where id between ?1 and ?2 and run = ?3");
    sqlite3_stmt* statement = nullptr;
    sqlite3* handle = database->getHandle();
    check(handle, sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, &sqlite3_finalize);

    std::vector<Record> records;
    std::array<std::int64_t, kMostColumns> row{};
    for (const IdInterval& ids : merged(std::move(intervals))) {
        sqlite3_bind_int64(statement, 1, ids.first);
        sqlite3_bind_int64(statement, 2, ids.last);
        sqlite3_bind_int64(statement, 3, frame.run);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const std::int64_t start = sqlite3_column_int64(statement, table.start);
            const std::int64_t duration =
                table.duration < 0 ? 0 : sqlite3_column_int64(statement, table.duration);
            // An event without length belongs to the window in which it begins.
            if (start >= end || (start < begin && start + duration <= begin))
                continue;
            if (window.step && (sqlite3_column_type(statement, 2) == SQLITE_NULL ||
                                sqlite3_column_int64(statement, 2) != *window.step))
                continue;
            for (std::size_t column = 0; column < table.columns.size(); ++column) {
                const int at = static_cast<int>(column);
                row[column] = sqlite3_column_type(statement, at) == SQLITE_NULL
                                  ? kNull
                                  : sqlite3_column_int64(statement, at);
            }
            records.push_back(from(row.data(), frame));
        }
        check(handle, sqlite3_reset(statement));
    }
    return records;
}

const LaunchConfig& RunReader::Impl::launch(std::int64_t id)
{
    const auto [place, isNew] = launches_.try_emplace(id);
    if (isNew) {
        SQLite::Statement row(*database, "select * from launch where id = ?");
        row.bind(1, id);
        if (row.executeStep()) {
            const auto number = [&row](int column) { return row.getColumn(column).getUInt(); };
            place->second = {{number(1), number(2), number(3)},
                             {number(4), number(5), number(6)},
                             {number(7), number(8), number(9)},
                             number(10),
                             number(11),
                             number(12),
                             number(13)};
        }
    }
    return place->second;
}

int RunReader::Impl::value(WordSet set, std::int64_t id)
{
    const auto [place, isNew] = values_[static_cast<std::size_t>(set)].try_emplace(id, -1);
    if (isNew) {
        const std::string_view word = text(id);
        const auto words = wordsOf(set);
        for (std::size_t i = 0; i < words.size(); ++i)
            if (!word.empty() && words[i] == word)
                place->second = static_cast<int>(i);
    }
    return place->second;
}

std::string_view RunReader::Impl::text(std::int64_t id)
{
    const auto [place, isNew] = texts_.try_emplace(id);
    if (isNew) {
        SQLite::Statement row(*database, "select text from string where id = ?");
        row.bind(1, id);
        if (row.executeStep())
            place->second = store::text(row, 0);
    }
    return place->second;
}

namespace {

template <class Event> void sortByStart(std::vector<Event>& events)
{
    // Nearly in order already: only what was open for long comes late.
    if (!std::ranges::is_sorted(events, {}, &Event::start))
        std::ranges::stable_sort(events, {}, &Event::start);
}

} // namespace

RunReader::RunReader(const fs::path& file)
{
    translating(file, [&] { impl_ = std::make_unique<Impl>(file); });
}
RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;

std::vector<RunRecord> RunReader::runs() const
{
    return translating(impl_->file, [this] { return impl_->runs({}); });
}

std::optional<RunRecord> RunReader::run(RunId id) const
{
    return translating(impl_->file, [&]() -> std::optional<RunRecord> {
        auto records = impl_->runs(id.value);
        return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
    });
}

std::vector<Sample> RunReader::samples(RunId run) const
{
    return translating(impl_->file, [&] {
        std::vector<Sample> samples;
        impl_->eachRow(run, Source::Sample, "step, kind, phase, wall_ns, gpu_ns",
                       [&](SQLite::Statement& row) {
                           const auto kind = fromWord<SampleKind>(row.getColumn(1).getText());
                           const auto phase = fromWord<Phase>(row.getColumn(2).getText());
                           if (!kind || !phase)
                               throw Error{.what = "the file is damaged: a sample of run " +
                                                   std::to_string(run.value) + " has no known kind and phase",
                                           .where = impl_->file.string(),
                                           .mend = "see with `tilescope verify` what is left"};
                           const auto gpu = integer(row, 4);
                           samples.push_back({row.getColumn(0).getInt(), *kind, *phase,
                                              Nanoseconds(row.getColumn(3).getInt64()),
                                              gpu ? std::optional(Nanoseconds(*gpu)) : std::nullopt});
                       });
        return samples;
    });
}

std::vector<EnvironmentEntry> RunReader::environment(RunId run) const
{
    return translating(impl_->file, [&] {
        std::vector<EnvironmentEntry> entries;
        impl_->eachRow(run, Source::Environment, "key, value, unit", [&](SQLite::Statement& row) {
            entries.push_back({store::text(row, 0), store::text(row, 1), store::text(row, 2)});
        });
        return entries;
    });
}

std::vector<ThreadName> RunReader::threads(RunId run) const
{
    return translating(impl_->file, [&] {
        std::vector<ThreadName> threads;
        impl_->eachRow(run, Source::Thread, "thread, name", [&](SQLite::Statement& row) {
            threads.push_back(
                {ThreadId{row.getColumn(0).getUInt()},
                 row.getColumn(1).isNull() ? StringId::none() : StringId{row.getColumn(1).getUInt()}});
        });
        return threads;
    });
}

std::vector<RunReader::LossRecord> RunReader::losses(RunId run) const
{
    return translating(impl_->file, [&] {
        std::vector<LossRecord> losses;
        impl_->eachRow(run, Source::Loss, "kind, severity, count, detail", [&](SQLite::Statement& row) {
            LossRecord loss{store::text(row, 0), store::text(row, 1), row.getColumn(2).getInt64(),
                            store::text(row, 3)};
            const auto same = std::ranges::find_if(losses, [&loss](const LossRecord& other) {
                return other.kind == loss.kind && other.severity == loss.severity &&
                       other.detail == loss.detail;
            });
            if (same == losses.end())
                losses.push_back(std::move(loss));
            else
                same->count += loss.count;
        });
        return losses;
    });
}

std::int64_t RunReader::recordsChecked(RunId run) const
{
    const auto record = this->run(run);
    return record ? record->recordsChecked : 0;
}

std::vector<Range> RunReader::ranges(const EventWindow& window) const
{
    return translating(impl_->file, [&] {
        auto ranges = impl_->events<Range>(EventKind::Range, window, rangeFrom);
        sortByStart(ranges);
        return ranges;
    });
}

std::vector<Op> RunReader::ops(const EventWindow& window) const
{
    return translating(impl_->file, [&] {
        auto ops =
            impl_->events<Op>(EventKind::Op, window, [this](const std::int64_t* row, const RowFrame& frame) {
                return opFrom(row, frame, *impl_);
            });
        sortByStart(ops);
        return ops;
    });
}

std::vector<ApiCall> RunReader::apiCalls(const EventWindow& window) const
{
    return translating(impl_->file, [&] {
        auto calls = impl_->events<ApiCall>(EventKind::ApiCall, window,
                                            [this](const std::int64_t* row, const RowFrame& frame) {
                                                return apiCallFrom(row, frame, *impl_);
                                            });
        sortByStart(calls);
        return calls;
    });
}

std::vector<DeviceEvent> RunReader::deviceEvents(const EventWindow& window) const
{
    return translating(impl_->file, [&] {
        auto events = impl_->events<DeviceEvent>(EventKind::Kernel, window,
                                                 [this](const std::int64_t* row, const RowFrame& frame) {
                                                     return kernelFrom(row, frame, *impl_);
                                                 });
        const auto copies = impl_->events<DeviceEvent>(
            EventKind::Copy, window,
            [this](const std::int64_t* row, const RowFrame& frame) { return copyFrom(row, frame, *impl_); });
        events.insert(events.end(), copies.begin(), copies.end());
        sortByStart(events);
        return events;
    });
}

std::vector<AllocEvent> RunReader::allocEvents(const EventWindow& window) const
{
    return translating(impl_->file, [&] {
        auto events = impl_->events<AllocEvent>(EventKind::Allocation, window,
                                                [this](const std::int64_t* row, const RowFrame& frame) {
                                                    return allocationFrom(row, frame, *impl_);
                                                });
        if (!std::ranges::is_sorted(events, {}, &AllocEvent::time))
            std::ranges::stable_sort(events, {}, &AllocEvent::time);
        return events;
    });
}

std::string_view RunReader::text(StringId id) const
{
    if (!id)
        return {};
    return translating(impl_->file, [&] { return impl_->text(id.value); });
}

StringId RunReader::find(std::string_view text) const
{
    return translating(impl_->file, [&] {
        SQLite::Statement row(*impl_->database, "select id from string where text = ?");
        row.bind(1, std::string(text));
        return row.executeStep() ? StringId{row.getColumn(0).getUInt()} : StringId::none();
    });
}

std::optional<std::pair<Timestamp, Timestamp>> RunReader::span(RunId run) const
{
    return translating(impl_->file, [&]() -> std::optional<std::pair<Timestamp, Timestamp>> {
        SQLite::Statement row(*impl_->database, "select min(start), max(end) from chunk where run = ?");
        row.bind(1, run.value);
        if (!row.executeStep() || row.getColumn(0).isNull())
            return {};
        const std::int64_t origin = impl_->frameOf(run).clockOrigin;
        return std::pair(timestampAt(origin + row.getColumn(0).getInt64()),
                         timestampAt(origin + row.getColumn(1).getInt64() + 1));
    });
}

const fs::path& RunReader::file() const
{
    return impl_->file;
}

} // namespace tilescope::store
