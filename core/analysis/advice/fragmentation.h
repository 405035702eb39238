#pragma once

#include "core/base/units.h"

#include <optional>

namespace tilescope::analysis {

/// Reserved memory that the allocator holds without use at the peak is worth a finding from this size and share on.
inline constexpr Bytes kLeastUnused{std::int64_t{64} << 20};
inline constexpr double kLeastUnusedShare = 0.1;

/// Reserved less allocated bytes at the peak of the allocated ones; none if that is little.
inline std::optional<Bytes> unusedAtPeak(Bytes allocated, Bytes reserved)
{
    const Bytes unused = reserved - allocated;
    const bool isMuch = unused >= kLeastUnused && static_cast<double>(unused.count) >=
                                                      kLeastUnusedShare * static_cast<double>(reserved.count);
    return isMuch ? std::optional(unused) : std::nullopt;
}

} // namespace tilescope::analysis
