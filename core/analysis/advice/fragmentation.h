#pragma once

#include "core/base/units.h"

#include <optional>

namespace tilescope::analysis {

/// The least size, and the least share of reserved memory, from which unused memory at the peak is worth a finding.
inline constexpr Bytes kLeastUnused{std::int64_t{64} << 20};
inline constexpr double kLeastUnusedShare = 0.1;

/// Reserved minus allocated bytes at the peak of allocated memory; none below either limit above.
inline std::optional<Bytes> unusedAtPeak(Bytes allocated, Bytes reserved)
{
    const Bytes unused = reserved - allocated;
    const bool isMuch = unused >= kLeastUnused && static_cast<double>(unused.count) >=
                                                      kLeastUnusedShare * static_cast<double>(reserved.count);
    return isMuch ? std::optional(unused) : std::nullopt;
}

} // namespace tilescope::analysis
