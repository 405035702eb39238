#pragma once

#include "core/report/study_runs.h"

#include <string>
#include <vector>

namespace tilescope::report {

/// How the values of these studies were measured, one sentence each.
std::vector<std::string> methodOf(const std::vector<StudyRuns>& studies);

/// The days on which the runs began, in UTC: `2026-11-25 to 2026-11-26`; empty if unknown.
std::string daysOf(const std::vector<StudyRuns>& studies);

} // namespace tilescope::report
