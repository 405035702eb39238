#pragma once

#include "core/query/memory/memory_tables.h"
#include "core/query/runs/time_span.h"

#include <functional>

namespace tilescope::query {

/// The blocks that are allocated at a run's peak, or at the peak within a span, as liveMemory() returns them, but
/// without the names and shapes of ops. Its history has these blocks only, and no curves: memory grows with what is alive.
///
/// If the file has a memory track, this reads the events up to the peak only. Returns an empty table if
/// cancelled.
/// \throws Error  no such run
LiveMemoryTable memoryAtPeak(const store::RunReader& reader, RunId run,
                             const std::function<bool()>& cancelled,
                             const std::optional<TimeSpan>& span = {});

} // namespace tilescope::query
