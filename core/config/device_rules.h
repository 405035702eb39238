#pragma once

#include "core/model/spec.h"

#include <optional>
#include <string>

namespace tilescope::config {

/// Why a device of that kind cannot run a point, as far as its spec alone tells: "compile graph is a CUDA
/// graph, and device is cpu". None where it can, perhaps without all that was asked for.
///
/// A spec of a person's own that asks for both is refused as a slip; a point of a study, or one whose device
/// turned out to be a CPU, is a run with status skipped and this reason.
std::optional<std::string> whyDeviceCannot(const ExperimentSpec& spec, bool isCuda);

} // namespace tilescope::config
