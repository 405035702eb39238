#pragma once

#include "core/session/supervisor/supervisor.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// A label for each point: its values of the keys that vary, `backend=flash seq_len=1024`. Empty if there is
/// only one point.
std::vector<std::string> pointLabels(const std::vector<SweepPoint>& points);

/// What `points` are counted as: runs, if a point is repeated, else points.
std::string_view pointsWord(const std::vector<SweepPoint>& points);

/// 4.2 s, 1m20s, 3h05m.
std::string durationText(double seconds);

} // namespace tilescope::session
