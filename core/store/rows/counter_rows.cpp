#include "core/store/rows/counter_rows.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/packed_bytes.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/string_map.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace tilescope::store {

namespace {

constexpr std::size_t kReadingsOfARow = 4096;

/// Readings are nearly periodic and values often repeat: differences of differences of times, and differences of
/// values, are small. Four to six bytes per reading.
std::string packed(std::span<const CounterPoint> points, std::int64_t origin)
{
    Packer packer;
    packer.put(points.size());
    std::int64_t time = origin;
    std::int64_t step = 0;
    std::int64_t value = 0;
    for (const CounterPoint& point : points) {
        const std::int64_t next = nanosecondsOf(point.time) - time;
        packer.put(folded(next - step));
        packer.put(folded(point.value - value));
        step = next;
        time += next;
        value = point.value;
    }
    return std::move(packer).finish();
}

/// Sums wrap: damaged numbers give wrong readings, not undefined behaviour.
std::int64_t sum(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Appends to `points`.
void unpack(std::string_view bytes, std::int64_t origin, std::vector<CounterPoint>& points)
{
    Unpacker unpacker(bytes);
    const std::size_t count = unpacker.takeCount();
    std::int64_t time = origin;
    std::int64_t step = 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        step = sum(step, unfolded(unpacker.take()));
        time = sum(time, step);
        value = sum(value, unfolded(unpacker.take()));
        points.push_back({timestampAt(time), value});
    }
}

std::string_view bytesOf(const SQLite::Column& column)
{
    return {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())};
}

/// The id in a cell, none for null.
template <class IdType> IdType idAt(SQLite::Statement& row, const char* column, const StoredRows& rows)
{
    using Value = decltype(IdType::value);
    const auto value = integer(row, column);
    if (value && (*value < 0 || *value > std::numeric_limits<Value>::max()))
        rows.damaged(std::string("a column ") + column + " holds " + std::to_string(*value));
    return value ? IdType{static_cast<Value>(*value)} : IdType::none();
}

} // namespace

CounterRows::CounterRows(SQLite::Database& database, RowLedger& ledger, StringMap& strings)
    : strings_(strings), tracks_(database, ledger, Source::CounterTrack,
                                 {"id", "run", "process", "device", "name", "unit", "samples", "failed",
                                  "start", "end", "minimum", "mean", "maximum", "data"})
{
}

void CounterRows::insert(const CounterTrack& track, const RowFrame& frame)
{
    const std::int64_t name = strings_.intern(track.name);
    const std::int64_t unit = strings_.intern(track.unit);
    for (std::size_t first = 0; first < track.points.size(); first += kReadingsOfARow) {
        const std::size_t next = std::min(first + kReadingsOfARow, track.points.size());
        CounterTrack part;
        part.points.assign(track.points.begin() + static_cast<std::ptrdiff_t>(first),
                           track.points.begin() + static_cast<std::ptrdiff_t>(next));
        part.end = next < track.points.size() ? track.points[next].time : track.end;
        const analysis::CounterFigures figures = *analysis::figuresOf(part);
        const std::string data = packed(part.points, frame.clockOrigin);
        tracks_.insert(frame.run, {frame.run, cellOfId(track.process), cellOfId(track.device), name, unit,
                                   figures.samples, first == 0 ? track.failed : std::int64_t{0},
                                   nanosecondsOf(part.points.front().time) - frame.clockOrigin,
                                   nanosecondsOf(part.end) - frame.clockOrigin, figures.minimum, figures.mean,
                                   figures.maximum, Blob{data}});
    }
}

std::vector<CounterTrack> readCounterTracks(StoredRows& rows, RunId run)
{
    using Key = std::tuple<ProcessIndex, DeviceIndex, std::int64_t, std::int64_t>;
    const std::int64_t origin = rows.frameOf(run).clockOrigin;
    std::vector<CounterTrack> tracks;
    std::map<Key, std::size_t> places;
    rows.eachRow(run, Source::CounterTrack, [&](SQLite::Statement& row) {
        const auto process = idAt<ProcessIndex>(row, "process", rows);
        const auto device = idAt<DeviceIndex>(row, "device", rows);
        const std::int64_t name = row.getColumn("name").getInt64();
        const std::int64_t unit = row.getColumn("unit").getInt64();
        const Timestamp start = timestampAt(sum(row.getColumn("start").getInt64(), origin));
        const auto [place, isNew] = places.try_emplace({process, device, name, unit}, tracks.size());
        // The part after another begins where that one ends.
        if (isNew || tracks[place->second].end != start) {
            place->second = tracks.size();
            tracks.push_back({.name = std::string(rows.text(name)),
                              .unit = std::string(rows.text(unit)),
                              .process = process,
                              .device = device});
        }
        CounterTrack& track = tracks[place->second];
        unpack(bytesOf(row.getColumn("data")), origin, track.points);
        track.failed += row.getColumn("failed").getInt64();
        track.end = timestampAt(sum(row.getColumn("end").getInt64(), origin));
    });
    for (const CounterTrack& track : tracks)
        if (track.points.empty() || !std::ranges::is_sorted(track.points, {}, &CounterPoint::time) ||
            track.points.back().time > track.end)
            rows.damaged("the readings of a counter of run " + std::to_string(run.value) +
                         " are not in the order of their times");
    return tracks;
}

} // namespace tilescope::store
