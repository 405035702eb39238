#pragma once

#include "core/model/spec.h"

#include <vector>

namespace tilescope::session {

/// A small edition of a sweep, to see that it works rather than to measure: at most one warm-up, three timed
/// and one traced step; an lm of size tiny. The lengths of the sweep (seq_len, kv_len, context) are divided
/// by the power of two that brings the longest of each key to 512 (context 128), so that their proportions
/// stay. Points that become the same by this are one; the first stays.
std::vector<ExperimentSpec> quickEdition(std::vector<ExperimentSpec> specs);

} // namespace tilescope::session
