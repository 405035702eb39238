#pragma once

#include "core/config/spec_file.h"

#include <string>
#include <vector>

namespace tilescope::config {

/// The points of a spec with other values for some keys. Keys whose values follow from the changed keys
/// change, too: kv_len changes with seq_len if both were equal.
/// \throws Error  a key or a value is unknown, or the values contradict each other
std::vector<ExperimentSpec> withChanges(const ExperimentSpec& spec, const Overrides& changes);

/// The shortest command that runs a spec: `tilescope run lm --size tiny --mode train`. Leaves out keys whose
/// values follow from other keys.
/// O(keys) resolved specs: milliseconds.
std::string runCommand(const ExperimentSpec& spec);

} // namespace tilescope::config
