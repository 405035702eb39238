#pragma once

#include "core/analysis/memory/memory_rewind.h"
#include "core/model/events.h"

#include <cstdint>
#include <vector>

namespace tilescope::exchange {

// The history of a device's allocator, from the segments at its end and the events until then.

/// What was made up for actions that PyTorch was told not to record (skip_actions of _record_memory_history,
/// from 2.11).
struct SkippedActions {
    std::int64_t requests = 0;    ///< free_requested of blocks whose free was completed
    std::int64_t completions = 0; ///< free_completed of blocks whose free was requested
    /// Blocks are freed again and again and never allocated: the events cannot be followed.
    bool lacksAllocations = false;
};

/// Adds what was left out of `events`: a free's missing part stands beside the other.
///
/// Only where the trace itself shows that the action is not recorded: a ring of events that begins or ends
/// between the two parts of a free is complete.
/// \param events  of one device, in order; times stay in order
SkippedActions addSkipped(std::vector<AllocEvent>& events, const analysis::MemoryStock& after);

/// Sets what is allocated and reserved after each event, and returns what there was before the first, with
/// the number of events that did not fit.
analysis::MemoryStock countThrough(std::vector<AllocEvent>& events, const analysis::MemoryStock& after);

} // namespace tilescope::exchange
