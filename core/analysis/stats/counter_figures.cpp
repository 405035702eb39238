#include "core/analysis/stats/counter_figures.h"

#include <algorithm>

namespace tilescope::analysis {

CounterTrack clipped(const CounterTrack& track, Timestamp from, Timestamp to)
{
    CounterTrack part = track;
    part.points.clear();
    part.end = std::min(track.end, to);
    if (part.end < from)
        return part;
    for (const CounterPoint& point : track.points) {
        if (point.time > to)
            break;
        // The last point before the interval gives the value at its beginning.
        if (point.time <= from)
            part.points.clear();
        part.points.push_back({std::max(point.time, from), point.value});
    }
    return part;
}

std::optional<CounterFigures> figuresOf(const CounterTrack& track)
{
    if (track.points.empty())
        return {};
    const auto [least, most] = std::ranges::minmax(track.points, {}, &CounterPoint::value);
    double held = 0; // value times nanoseconds
    for (std::size_t i = 0; i < track.points.size(); ++i) {
        const Timestamp until = i + 1 < track.points.size() ? track.points[i + 1].time : track.end;
        held += static_cast<double>(track.points[i].value) *
                static_cast<double>((until - track.points[i].time).count());
    }
    const auto length = static_cast<double>((track.end - track.points.front().time).count());
    // An interval without length has the last value read.
    const double mean = length > 0 ? held / length : static_cast<double>(track.points.back().value);
    return CounterFigures{.samples = static_cast<std::int64_t>(track.points.size()),
                          .minimum = static_cast<double>(least.value) / kPartsOfCounterUnit,
                          .mean = mean / kPartsOfCounterUnit,
                          .maximum = static_cast<double>(most.value) / kPartsOfCounterUnit};
}

} // namespace tilescope::analysis
