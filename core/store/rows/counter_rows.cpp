#include "core/store/rows/counter_rows.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/store/rows/packed_bytes.h"
#include "core/store/rows/run_row.h"
#include "core/store/rows/string_map.h"

#include <algorithm>
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

/// Appends to `points`.
void unpack(std::string_view bytes, std::int64_t origin, std::vector<CounterPoint>& points)
{
    Unpacker unpacker(bytes);
    const std::size_t count = unpacker.takeCount();
    std::int64_t time = origin;
    std::int64_t step = 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        step = RunRow::sum(step, unfolded(unpacker.take()));
        time = RunRow::sum(time, step);
        value = RunRow::sum(value, unfolded(unpacker.take()));
        points.push_back({timestampAt(time), value});
    }
}

} // namespace

CounterRows::CounterRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings)
    : strings_(strings), tracks_(database, chunks, "counter_track",
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
    const RowFrame frame = rows.frameOf(run);
    std::vector<CounterTrack> tracks;
    std::map<Key, std::size_t> places;
    rows.eachRow(run, "counter_track", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        const auto process = row.id<ProcessIndex>("process");
        const auto device = row.id<DeviceIndex>("device");
        const std::int64_t name = row.number("name");
        const std::int64_t unit = row.number("unit");
        const Timestamp start = row.time("start");
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
        unpack(row.bytes("data"), frame.clockOrigin, track.points);
        track.failed += row.number("failed");
        track.end = row.time("end");
    });
    for (const CounterTrack& track : tracks)
        if (track.points.empty() || !std::ranges::is_sorted(track.points, {}, &CounterPoint::time) ||
            track.points.back().time > track.end)
            rows.damaged("the readings of a counter of run " + std::to_string(run.value) +
                         " are not in the order of their times");
    return tracks;
}

} // namespace tilescope::store
