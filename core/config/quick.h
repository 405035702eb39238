#pragma once

#include "core/config/spec_file.h"

#include <vector>

namespace tilescope::config {

/// A small edition of a sweep, for trying it out: at most one warm-up, three timed and one traced step, no
/// repeats, and size tiny for an lm. The lengths (seq_len, kv_len, context) and vocab are divided by a power of
/// two that reduces the longest value of each key to 512 (context: 128, vocab: 1250), so that their ratios stay.
/// Of points that become equal, the first is kept.
/// \param chosen  keys that the caller has set for the small edition; only `size` among them may change
std::vector<ExperimentSpec> quickEdition(std::vector<ExperimentSpec> specs, const Overrides& chosen = {});

/// Removes points that equal an earlier one except for the name.
std::vector<ExperimentSpec> withoutRepeats(std::vector<ExperimentSpec> specs);

} // namespace tilescope::config
