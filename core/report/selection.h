#pragma once

#include "core/report/study_runs.h"
#include "core/report/template.h"

#include <functional>
#include <memory>
#include <vector>

namespace tilescope::report {

using RunList = std::vector<std::shared_ptr<const RunFacts>>;

/// Runs of a part (empty: of all parts) that have these keys, each once, in the order of the points.
RunList select(const StudyRuns& study, const std::string& part, const Where& where);

bool matches(const RunFacts& run, const Where& where);

/// The values of these keys that there are, in the order in which they come first.
std::vector<std::vector<std::string>> distinctKeys(const RunList& runs, const std::vector<std::string>& keys);

/// The quantity among runs that share their other keys: a metric of the first that matches, or a ratio. A
/// ratio has no interval; its n is the smaller one. Nothing where a run is missing or did not measure it.
/// \param run  receives the run whose metric it is; null where there is none
Fact quantityOf(const RunList& runs, const Quantity& quantity, std::shared_ptr<const RunFacts>& run);

} // namespace tilescope::report
