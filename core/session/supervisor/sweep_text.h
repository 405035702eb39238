#pragma once

#include "core/session/supervisor/supervisor.h"

#include <string>
#include <vector>

namespace tilescope::session {

/// What tells the points of a sweep apart: for each its values of the keys that vary, `backend=flash
/// seq_len=1024`. Empty texts where there is one point.
std::vector<std::string> pointLabels(const std::vector<SweepPoint>& points);

/// 4.2 s, 1m20s, 3h05m.
std::string durationText(double seconds);

} // namespace tilescope::session
