#include "core/analysis/memory/memory_curve.h"

namespace tilescope::analysis {

std::optional<MemoryPeak> memoryPeak(std::span<const AllocEvent> events, DeviceIndex device)
{
    std::optional<MemoryPeak> peak;
    for (const AllocEvent& event : events)
        if (event.device == device && event.action != AllocAction::Oom &&
            (!peak || event.allocated > peak->allocated.count))
            peak = MemoryPeak{event.time, {event.allocated}, {event.reserved}};
    return peak;
}

std::optional<DeviceIndex> mainMemoryDevice(std::span<const AllocEvent> events)
{
    std::optional<DeviceIndex> device;
    std::int64_t highest = 0;
    for (const AllocEvent& event : events)
        if (event.action != AllocAction::Oom && (!device || event.allocated > highest)) {
            device = event.device;
            highest = event.allocated;
        }
    return device;
}

} // namespace tilescope::analysis
