#include "core/exchange/export/memory_parts.h"

#include "core/model/process_address.h"

namespace tilescope::exchange {

std::optional<std::size_t> MemoryParts::take(AllocEvent& event, std::optional<std::size_t> process)
{
    const std::uint64_t number = event.address >> kProcessAddressBits;
    if (processes_ < 2 || number >= processes_)
        return process;
    Device& device = devices_[event.device];
    Part& part = device.parts[number];
    part.allocated += event.allocated - device.allocated;
    part.reserved += event.reserved - device.reserved;
    device.allocated = event.allocated;
    device.reserved = event.reserved;
    event.allocated = part.allocated;
    event.reserved = part.reserved;
    event.address -= number << kProcessAddressBits;
    if (process)
        part.process = process;
    if (!part.process && (number > 0 || device.parts.size() > 1))
        return number;
    return part.process;
}

} // namespace tilescope::exchange
