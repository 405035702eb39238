#pragma once

#include "core/query/timeline/timeline_levels.h"
#include "core/query/timeline/timeline_names.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Intervals of time in any order; they may overlap. Nanoseconds.
using Stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Splits the gaps of a device's busy lane: parts in which the tracer worked or the host waited get that reason, in
/// the order of analysis::partitionStep. The rest of a gap keeps its reason.
/// O(n log n).
Track withReasons(Track busy, Stretches tracing, Stretches waiting, TimelineNames& names);

} // namespace tilescope::query
