#pragma once

#include "core/model/events.h"
#include "core/model/processes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilescope {

/// Finds the process behind the thread, stream or device of an event. Immutable once built; any thread.
class TopologyIndex {
public:
    TopologyIndex() = default;
    TopologyIndex(RunTopology topology, std::span<const ThreadName> threads);

    /// Whether the run has several processes. If not, of() returns none for everything.
    bool hasSeveral() const { return topology_.processes.size() > 1; }
    ProcessIndex of(ThreadId thread) const;
    ProcessIndex of(DeviceIndex device, StreamId stream) const;
    /// None if several processes used the device.
    ProcessIndex of(DeviceIndex device) const;

    const RunTopology& topology() const { return topology_; }
    const TracedProcess* find(ProcessIndex process) const;
    std::optional<std::int32_t> rankOf(ProcessIndex process) const;
    /// "rank 1", "python 4711"; empty for none.
    std::string titleOf(ProcessIndex process) const;

private:
    RunTopology topology_;
    std::unordered_map<ThreadId, ProcessIndex> threads_;
    std::map<std::pair<DeviceIndex, StreamId>, ProcessIndex> streams_;
    std::map<DeviceIndex, ProcessIndex> devices_;
};

} // namespace tilescope
