#pragma once

#include "core/report/document.h"
#include "core/report/study_runs.h"

#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

/// Where and with what a study was run: machine, versions, clocks. What differs among its runs is listed with
/// all its values.
/// \param anonymous  without what names the host
std::vector<std::pair<std::string, std::string>> settingOf(const StudyRuns& study, bool anonymous);

/// What a reader has to know before believing the figures: points that were not run, the quick edition, few
/// samples, flags of runs (throttled, drift, busy host), losses.
std::vector<Caution> cautionsOf(const StudyRuns& study);

} // namespace tilescope::report
