#pragma once

#include "core/model/counter_track.h"

#include <cstdint>
#include <optional>

namespace tilescope::analysis {

/// A counter in an interval, in its unit.
struct CounterFigures {
    std::int64_t samples = 0; ///< readings within the interval
    double minimum = 0;
    double mean = 0; ///< each value weighs as long as it holds
    double maximum = 0;
};

/// The part of a track within [from, to]. The value that holds at `from` becomes its first point. Without points
/// if the track does not reach into the interval.
CounterTrack clipped(const CounterTrack& track, Timestamp from, Timestamp to);

/// None for a track without points. O(points).
/// \pre points by time, none behind the track's end
std::optional<CounterFigures> figuresOf(const CounterTrack& track);

} // namespace tilescope::analysis
