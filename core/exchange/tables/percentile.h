#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>

namespace tilescope::exchange {

/// Fewer values have no 95th percentile below the largest.
inline constexpr std::int64_t kFewestForP95 = 20;

inline std::optional<double> percentile95(const analysis::Statistics& statistics)
{
    return statistics.n >= kFewestForP95 ? std::optional(statistics.p95) : std::nullopt;
}

} // namespace tilescope::exchange
