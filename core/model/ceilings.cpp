#include "core/model/ceilings.h"

#include <algorithm>

namespace tilescope {

std::optional<double> hostWaitingAt(std::span<const Ceiling> all, const Ceiling& one)
{
    const auto found = std::ranges::find_if(all, [&one](const Ceiling& other) {
        return other.kind == kHostWaiting && other.device == one.device &&
               other.measuredUnixNs == one.measuredUnixNs;
    });
    return found == all.end() ? std::nullopt : std::optional(found->value / 100);
}

bool isFromBusyHost(std::span<const Ceiling> all, const Ceiling& one)
{
    return hostWaitingAt(all, one).value_or(0) >= kBusyHostShare;
}

} // namespace tilescope
