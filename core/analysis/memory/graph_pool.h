#pragma once

#include "core/model/memory.h"
#include "core/model/strings.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// The most bytes that the captured step had allocated in private pools at a time. A replay uses this memory,
/// although the allocator counts most of it as free. None if nothing was captured. O(n).
std::optional<std::int64_t> mostInGraphPools(const CapturedStep& captured);

/// Attributes the blocks of a private pool that outlived the capture, from the allocations of the capture.
/// Blocks named kGraphPool get a category and a name of module, op and phase that contains kGraphPool. Blocks
/// without an allocation of their size in the capture stay unattributed.
/// \param blocks   after the capture, of its device
/// \param strings  of the captured events' and ops' texts
/// O((n + m) log n).
void attributeGraphPool(std::span<MemoryBlock> blocks, const CapturedStep& captured,
                        const StringTable& strings);

} // namespace tilescope::analysis
