#pragma once

#include "core/model/counter_track.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The tracks of one counter of one place, which are one curve with holes between them.
struct CounterCurve {
    const CounterTrack* about = nullptr;         ///< the first: name, unit, place
    std::vector<const CounterTrack*> parts = {}; ///< by time
    std::vector<std::pair<Timestamp, Timestamp>> holes = {};
    Timestamp end{}; ///< of the last value
};

/// Puts tracks together; one that begins before another of its counter has ended is a curve of its own.
/// \param tracks  must outlive the result
std::vector<CounterCurve> curvesOf(std::span<const CounterTrack> tracks);

/// The mean over the time in which values are known, as people read it: 85.9 %. Empty without values.
std::string meanText(const CounterCurve& curve);

} // namespace tilescope::query
