#pragma once

#include "core/config/spec_file.h"

#include <vector>

namespace tilescope::config {

/// A small edition of a sweep, to see that it works rather than to measure: at most one warm-up, three timed
/// and one traced step, every point once; an lm of size tiny. The lengths of the sweep (seq_len, kv_len,
/// context) are divided by the power of two that brings the longest of each key to 512 (context 128), so that
/// their proportions stay. Points that become the same by this are one; the first stays.
/// \param chosen  keys that were set for the small edition already and stay as they are
std::vector<ExperimentSpec> quickEdition(std::vector<ExperimentSpec> specs, const Overrides& chosen = {});

/// Of points that are the same but for their names, the first.
std::vector<ExperimentSpec> withoutRepeats(std::vector<ExperimentSpec> specs);

} // namespace tilescope::config
