#pragma once

#include "core/model/spec.h"
#include "core/query/file_session.h"

#include <optional>

namespace tilescope::query {

/// The resolved spec of a run; none for imports and recordings, which have no spec, and for specs of a newer
/// version. O(keys).
std::optional<ExperimentSpec> specOf(const RunSummary& run);

} // namespace tilescope::query
