#pragma once

#include "core/report/study_runs.h"
#include "core/report/template.h"

#include <functional>
#include <memory>
#include <vector>

namespace tilescope::report {

using RunList = std::vector<std::shared_ptr<const RunFacts>>;

/// The runs of a part (empty: of all parts) with these key values, without duplicates, in the order of the
/// points.
RunList select(const StudyRuns& study, const std::string& part, const Where& where);

bool matches(const RunFacts& run, const Where& where);

/// A text of a template with the values of the runs in place of keys in braces: config::filledText().
std::string filled(const std::string& text, const RunList& runs);

/// The distinct combinations of values of these keys, in order of first occurrence.
std::vector<std::vector<std::string>> distinctKeys(const RunList& runs, const std::vector<std::string>& keys);

/// The quantity among runs that agree in their other keys: a metric of the first match, or a ratio. A ratio
/// has no interval; its n is the smaller one. Monostate if a run is missing or did not measure it.
/// \param divisors  the runs to which the divisor's belongs
/// \param run  receives the run of the metric, or null
Fact quantityOf(const RunList& runs, const RunList& divisors, const Quantity& quantity,
                std::shared_ptr<const RunFacts>& run);

/// The runs among which the divisor's run is searched: all runs of the part, if the quantity gives a value
/// for each of `keys` (the keys that divide the part into rows); otherwise the runs of the row.
const RunList& divisorsOf(const Quantity& quantity, const std::vector<std::string>& keys, const RunList& row,
                          const RunList& part);

} // namespace tilescope::report
