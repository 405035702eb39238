#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "launches", where a process has several calls with one correlation id that do not overlap, as in files that hold
/// several recordings of a process: each of them but the first, with the calls within it and its activities, gets an id
/// that nothing else has.
///
/// With as many activities as calls, the n-th activity is that of the n-th call, if no activity then starts before its
/// call; otherwise an activity is that of the last call before it. Ids that one activity, a collective or a wait has stay as
/// they are. Times are on one axis. O(n log n) in the events whose ids are reused, O(n) in the others.
void separateReusedCorrelations(ForeignTrace& trace);

} // namespace tilescope::exchange
