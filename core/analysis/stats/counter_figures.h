#pragma once

#include "core/model/counter_track.h"

#include <cstdint>
#include <optional>

namespace tilescope::analysis {

/// Statistics of a counter in an interval, in the counter's unit.
struct CounterFigures {
    std::int64_t samples = 0; ///< readings within the interval
    double minimum = 0;
    double mean = 0; ///< weighted by the time for which each value holds
    double maximum = 0;
};

/// The part of a track within [from, to]. Its first point is the value that holds at `from`. It has no points
/// if the track does not overlap the interval.
CounterTrack clipped(const CounterTrack& track, Timestamp from, Timestamp to);

/// The statistics of a whole track; none if it has no points. O(points).
/// \pre the points are sorted by time, none after the track's end
std::optional<CounterFigures> figuresOf(const CounterTrack& track);

} // namespace tilescope::analysis
