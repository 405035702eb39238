#pragma once

#include "core/query/memory/memory_tables.h"

#include <functional>

namespace tilescope::query {

/// What is allocated at a run's peak, as liveMemory() tells it, but without the names and shapes of ops: of
/// the events it keeps only those of the blocks it lists, so that memory grows with what is alive.
///
/// Where the file has the memory's track, it reads the events up to the peak only; ends early, with nothing,
/// where cancelled.
/// \throws Error  no such run
LiveMemoryTable memoryAtPeak(const store::RunReader& reader, RunId run,
                             const std::function<bool()>& cancelled);

} // namespace tilescope::query
