#pragma once

#include "core/model/memory.h"
#include "core/model/strings.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// The most that the captured step held in private pools at any one time: what a replay of it works in,
/// though the allocator counts most of it as free. None where nothing was captured. O(n).
std::optional<std::int64_t> mostInGraphPools(const CapturedStep& captured);

/// Says what blocks of a private pool are for that outlived the capture, from what the capture allocated:
/// those named kGraphPool get a category, and a name of module, op and phase with kGraphPool in it. Blocks
/// that the capture was not seen to make, or of another size, stay as they are: unattributed, with their
/// bytes.
/// \param blocks   after the capture, of its device
/// \param strings  of the captured events' and ops' texts
/// O((n + m) log n).
void attributeGraphPool(std::span<MemoryBlock> blocks, const CapturedStep& captured,
                        const StringTable& strings);

} // namespace tilescope::analysis
