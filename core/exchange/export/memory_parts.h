#pragma once

#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tilescope::exchange {

/// Separates the memory of a device by process, after completeAllocations() has merged the events of several
/// processes: totals are then sums over the processes, and addresses identify the process.
///
/// Events in time order. Memory of one process stays as it is. One thread.
class MemoryParts {
public:
    /// \param processes  number of processes of the run
    explicit MemoryParts(std::size_t processes) : processes_(processes) {}

    /// Sets the address and totals of the event to those within its process.
    /// \param process  the process of the event's thread, if known
    /// \return         the process, if this or an earlier event of the same part identifies it, otherwise a
    ///                 guess by the order of processes; none if only one process uses the device
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
