#include "core/query/runs/counter_table.h"

#include "core/base/quantity.h"
#include "core/model/topology_index.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <cmath>

namespace tilescope::query {

namespace {

std::string placeOf(const TopologyIndex& topology, const CounterTrack& track)
{
    if (track.device)
        return deviceTitle(topology, track.device);
    const std::string process = topology.titleOf(track.process);
    return process.empty() ? "host" : process;
}

/// 1.98 G of 1.98e9.
std::string withPrefix(double value, std::string_view unit)
{
    constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T"};
    std::size_t prefix = 0;
    for (; std::abs(value) >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix)
        value /= 1000;
    return quantity::threeDigits(value) + " " + std::string(kPrefixes[prefix]) + std::string(unit);
}

} // namespace

std::string counterText(double value, std::string_view unit)
{
    if (unit == "B")
        return quantity::withUnit(value, quantity::Unit::Bytes);
    if (unit == "Hz" || unit == "B/s")
        return withPrefix(value, unit);
    return quantity::threeDigits(value) + (unit.empty() ? "" : " ") + std::string(unit);
}

CountersTable counters(const store::RunReader& reader, std::optional<RunId> run,
                       const std::optional<TimeSpan>& span)
{
    CountersTable table{.run = chooseRun(reader, run), .span = span};
    reader.atOnce([&] {
        const RunId number = table.run.run;
        const TopologyIndex topology(reader.topology(number), reader.threads(number));
        const store::EventWindow window = windowOf(reader, number, span);
        for (CounterTrack& track : reader.counterTracks(number)) {
            table.anyRecorded = true;
            if (span)
                track = analysis::clipped(track, window.from, window.to);
            if (const auto figures = analysis::figuresOf(track))
                table.rows.push_back(
                    {.place = placeOf(topology, track),
                     .process =
                         rowProcess(topology, track.process ? track.process : topology.of(track.device)),
                     .device = track.device,
                     .name = track.name,
                     .unit = track.unit,
                     .failed = track.failed,
                     .figures = *figures});
        }
    });
    return table;
}

} // namespace tilescope::query
