#include "core/store/run_reader_impl.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "core/store/columns.h"
#include "core/store/writer_lock.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace tilescope::store {

std::vector<RunRecord> RunReader::Impl::runs(std::optional<std::int64_t> only)
{
    SQLite::Statement row(
        database(),
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
            damaged("run " + std::to_string(record.run.value) + " has the status '" + store::text(row, 10) +
                    "'");
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
    if (orphans && !WriterLock::isHeld(file()))
        for (RunRecord& record : records)
            if (record.result.status == RunStatus::Running) {
                record.result.status = RunStatus::Interrupted;
                record.result.reason = "its writer died";
            }
    return records;
}

RowFrame RunReader::Impl::frameOf(RunId run)
{
    SQLite::Statement row(database(), "select clock_origin, first_range, first_op from run where id = ?");
    row.bind(1, run.value);
    if (!row.executeStep())
        throw Error{.what = "no run " + std::to_string(run.value),
                    .where = file().string(),
                    .mend = "see its runs with `tilescope show " + file().string() + "`"};
    return {run.value, row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64()};
}

const ChunkDirectory& RunReader::Impl::directory(RunId run, Source source)
{
    const std::int64_t edition = integerOf(database(), "select edition from file where id = 1");
    if (edition != edition_)
        directories_.clear();
    edition_ = edition;
    Directories& directories = directories_[run.value];
    if (directories.generation != connection.generation())
        refresh(run.value, directories);
    return directories.bySource[static_cast<std::size_t>(source)];
}

/// Chunks are only ever added within an edition: reads those that are new.
void RunReader::Impl::refresh(std::int64_t run, Directories& directories)
{
    for (std::size_t i = 0; i < kSources; ++i) {
        ChunkDirectory& directory = directories.bySource[i];
        SQLite::Statement row(database(), "select id, first, last, rows, start, end from chunk "
                                          "where run = ? and source = ? and id > ? order by id");
        row.bind(1, run);
        row.bind(2, nameOf(static_cast<Source>(i)).data());
        row.bind(3, directory.newest());
        while (row.executeStep())
            directory.add(
                row.getColumn(0).getInt64(),
                {{row.getColumn(1).getInt64(), row.getColumn(2).getInt64(), row.getColumn(3).getInt64()},
                 integer(row, 4).value_or(kNull),
                 integer(row, 5).value_or(kNull)});
        directory.arrange();
    }
    directories.generation = connection.generation();
}

EventCursor RunReader::Impl::cursor(EventKind kind, const EventWindow& window, const RowFrame& frame)
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

/// Kernels and copies lie in two tables, each in start order.
void RunReader::Impl::eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take)
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

const LaunchConfig& RunReader::Impl::launch(std::int64_t id)
{
    const auto [place, isNew] = launches_.try_emplace(id);
    if (isNew) {
        SQLite::Statement row(database(), "select * from launch where id = ?");
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
        SQLite::Statement row(database(), "select text from string where id = ?");
        row.bind(1, id);
        if (row.executeStep())
            place->second = store::text(row, 0);
    }
    return place->second;
}

} // namespace tilescope::store
