#pragma once

#include "core/session/protocol/maker.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// Every `count`-th point from `index` on, with all its repeats: what one of `count` jobs runs of a sweep.
struct Shard {
    std::int64_t index = 0; ///< 0 <= index < count
    std::int64_t count = 1;
};

/// `I/N`.
/// \throws Error (Usage)  where it is not that, or not 0 <= I < N
Shard parseShard(std::string_view text);

std::vector<SweepPoint> pointsOf(const Shard& shard, std::vector<SweepPoint> points);

/// What is left to do of a sweep.
struct Remainder {
    std::vector<SweepPoint> points; ///< those that the file does not hold yet
    Makers before;                  ///< what made those that it does hold; for SweepOptions::before
};

/// A point is held where `repeat` runs of the same resolved spec ended ok, oom or skipped; a spec that stands
/// twice in the sweep needs as many for each. All points are left where the file does not exist.
/// \throws Error (Usage)  unless `force`: another program version made a run of the sweep, or the runs are
/// those of the sweep on another device
Remainder remainderOf(std::vector<SweepPoint> points, const std::filesystem::path& file, bool force);

} // namespace tilescope::session
