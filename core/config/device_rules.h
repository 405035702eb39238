#pragma once

#include "core/model/spec.h"

#include <optional>
#include <string>

namespace tilescope::config {

/// Why a device of that kind cannot run a point, judged by the spec alone: "compile graph is a CUDA graph,
/// and device is cpu". None if the device can run it, possibly with some of the requested data missing.
///
/// In a spec of the user's own this is an error. A point of a study, or a point whose device turns out to be
/// a CPU, becomes a run with status skipped and this reason.
std::optional<std::string> whyDeviceCannot(const ExperimentSpec& spec, bool isCuda);

} // namespace tilescope::config
