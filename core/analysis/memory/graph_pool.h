#pragma once

#include "core/model/memory.h"
#include "core/model/strings.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// The largest number of bytes that the captured step had allocated in private pools at once. A replay uses
/// this memory, although the allocator counts most of it as free. None if nothing was captured. O(n).
std::optional<std::int64_t> mostInGraphPools(const CapturedStep& captured);

/// Attributes the blocks of a private pool that outlived the capture, from the allocations of the capture.
/// Blocks named kGraphPool get a category and a name of module, op and phase that contains kGraphPool. Blocks
/// without an allocation of their size in the capture stay unattributed.
/// \param blocks   blocks on the device of the capture, after the capture
/// \param strings  the table of the texts that the captured events and ops refer to
/// O((n + m) log n).
void attributeGraphPool(std::span<MemoryBlock> blocks, const CapturedStep& captured,
                        const StringTable& strings);

} // namespace tilescope::analysis
