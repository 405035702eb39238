#pragma once

#include "core/query/memory/memory_tables.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/time_span.h"

#include <functional>

namespace tilescope::query {

/// The blocks that are allocated at a run's peak, or at the peak within a span, like liveMemory() but without the names
/// and shapes of ops. The history has only these blocks and no curves, so memory grows with the number of live blocks.
///
/// If the file has a memory track, this reads the events up to the peak only. Returns an empty table if
/// cancelled.
/// \param topology  only the memory of this process; empty: the device whose peak is the highest
/// \return         without a history if the process has no memory of its own
/// \throws Error  no such run or process
LiveMemoryTable memoryAtPeak(const store::RunReader& reader, RunId run,
                             const std::function<bool()>& cancelled, const std::optional<TimeSpan>& span = {},
                             const ProcessQuery& topology = {});

} // namespace tilescope::query
