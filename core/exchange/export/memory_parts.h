#pragma once

#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tilescope::exchange {

/// Takes the memory of a device that several processes use apart, whose events completeAllocations() joined: their
/// totals are sums over the processes, and their addresses say which process they belong to.
///
/// Events in time order. Memory of one process stays as it is. One thread.
class MemoryParts {
public:
    /// \param processes  how many the run has
    explicit MemoryParts(std::size_t processes) : processes_(processes) {}

    /// Gives the event the address and the totals that it has in its process.
    /// \param process  that of its thread, if known
    /// \return         the process, if the event or an earlier one of that part says so, otherwise a guess by the
    ///                 order of processes; none if one process alone uses the device
    std::optional<std::size_t> take(AllocEvent& event, std::optional<std::size_t> process);

private:
    struct Part {
        std::int64_t allocated = 0;
        std::int64_t reserved = 0;
        std::optional<std::size_t> process;
    };
    struct Device {
        std::int64_t allocated = 0; ///< sums after the last event
        std::int64_t reserved = 0;
        std::map<std::size_t, Part> parts;
    };

    std::size_t processes_;
    std::map<DeviceIndex, Device> devices_;
};

} // namespace tilescope::exchange
