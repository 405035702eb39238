#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"
#include "core/model/processes.h"

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// The process whose host memory was recorded in a run of several processes; none if several were recorded or if
/// it is unknown. Reads allocations until it finds those of a second process.
ProcessIndex hostMemoryProcess(const store::RunReader& reader, RunId run);

/// The topology of a run. If hostMemoryProcess() is known, adds a stream of that process without a device, so
/// that TopologyIndex finds the process of host memory like that of GPU memory.
RunTopology topologyWithHost(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
