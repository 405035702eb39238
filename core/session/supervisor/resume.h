#pragma once

#include "core/session/protocol/maker.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// Every `count`-th point from `index` on, with all its repeats: the part of a sweep for one of `count` jobs.
struct Shard {
    std::int64_t index = 0; ///< 0 <= index < count
    std::int64_t count = 1;
};

/// `I/N`.
/// \throws Error (Usage)  the text is not I/N with 0 <= I < N
Shard parseShard(std::string_view text);

std::vector<SweepPoint> pointsOf(const Shard& shard, std::vector<SweepPoint> points);

/// The remainder of a sweep.
struct Remainder {
    std::vector<SweepPoint> points; ///< those that the file does not contain yet
    Makers before;                  ///< makers of those that it contains; for SweepOptions::before
};

/// A point is done if the file has `repeat` runs of its resolved spec with status ok, oom or skipped. A spec
/// that occurs twice in the sweep needs as many for each. All points remain if the file does not exist.
/// \throws Error (Usage)  unless `force`: a run of the sweep is from another program version, or the runs are
///                        those of the sweep on another device
Remainder remainderOf(std::vector<SweepPoint> points, const std::filesystem::path& file, bool force);

} // namespace tilescope::session
