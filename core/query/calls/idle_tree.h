#pragma once

#include "core/query/calls/call_tree.h"
#include "core/query/waiting/waiting_records.h"

namespace tilescope::query {

/// The idle time of the GPUs by the stacks of the host: functions from the outermost, then the cause and the call into
/// CUDA. The time in which the host had launched, and what is not known, are causes without a stack. The amounts add up
/// to the idle time exactly.
///
/// Counts are samples, calls, or idle intervals, whatever the time is known by.
CallTreeTable idleTree(const WaitingRecords& records);

} // namespace tilescope::query
