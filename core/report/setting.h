#pragma once

#include "core/report/document.h"
#include "core/report/study_runs.h"

#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

/// The environment of a study's runs: machine, versions, clocks. A setting that differs among runs is listed
/// with all its values.
/// \param anonymous  omits what identifies the host
std::vector<std::pair<std::string, std::string>> settingOf(const StudyRuns& study, bool anonymous);

/// Caveats of a study: points that were not run, the quick edition, few samples, flags of runs (throttled,
/// drift, busy host), losses.
std::vector<Caution> cautionsOf(const StudyRuns& study);

} // namespace tilescope::report
