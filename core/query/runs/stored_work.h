#pragma once

#include "core/analysis/work/timed_work.h"
#include "core/store/run_reader.h"

#include <optional>
#include <vector>

namespace tilescope::query {

/// Time and work of a run with a GPU, like analysis::timedWorkOfOps(), without reading its events. None if the file
/// has no totals of its calls, or if they do not determine the result. Views are valid as long as the reader.
std::optional<std::vector<analysis::TimedWork>> storedWork(const store::RunReader& reader, RunId run,
                                                           const analysis::TextOf& textOf,
                                                           const analysis::FamilyOf& familyOf,
                                                           const analysis::WorkContext& context,
                                                           analysis::WorkScope scope);

} // namespace tilescope::query
