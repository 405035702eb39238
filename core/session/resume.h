#pragma once

#include "core/session/supervisor.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// Every `count`-th point from `index` on: what one of `count` jobs runs of a sweep.
struct Shard {
    std::int64_t index = 0; ///< 0 <= index < count
    std::int64_t count = 1;
};

/// `I/N`. \throws Error (Usage)  where it is not that, or not 0 <= I < N
Shard parseShard(std::string_view text);

std::vector<SweepPoint> pointsOf(const Shard& shard, std::vector<SweepPoint> points);

/// The points that a file does not hold yet: those without a run of the same resolved spec that ended ok, oom
/// or skipped. A spec that stands twice in the sweep needs two runs. All of them where the file does not
/// exist. \throws Error (Usage)  a run of the sweep was made by another program version, unless `force`
std::vector<SweepPoint> pendingPoints(std::vector<SweepPoint> points, const std::filesystem::path& file,
                                      bool force);

} // namespace tilescope::session
