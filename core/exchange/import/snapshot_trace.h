#pragma once

#include "core/analysis/memory/memory_rewind.h"
#include "core/model/events.h"

#include <cstdint>
#include <vector>

namespace tilescope::exchange {

// The history of a device's allocator, from the segments at its end and the events until then.

/// Counts of events that were added for actions excluded from the recording (skip_actions of
/// _record_memory_history, from PyTorch 2.11).
struct SkippedActions {
    std::int64_t requests = 0;    ///< free_requested events of blocks with a completed free
    std::int64_t completions = 0; ///< free_completed events of blocks with a requested free
    /// Blocks are freed repeatedly but never allocated, so the events cannot be followed.
    bool lacksAllocations = false;
};

/// Adds missing events: the missing part of a free is placed next to the other.
///
/// Adds events only if the trace shows that the action was not recorded. A ring of events that begins or ends
/// between the two parts of a free is complete.
/// \param events  of one device, in order; times stay in order
SkippedActions addSkipped(std::vector<AllocEvent>& events, const analysis::MemoryStock& after);

/// Sets the allocated and reserved bytes after each event. Returns the state before the first, and the number
/// of events that did not fit.
analysis::MemoryStock countThrough(std::vector<AllocEvent>& events, const analysis::MemoryStock& after);

} // namespace tilescope::exchange
