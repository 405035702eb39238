#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace tilescope::exchange {

/// The time from the first to the last event, in nanoseconds.
struct TimeSpan {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();

    void include(std::int64_t start, std::int64_t end)
    {
        first = std::min(first, start);
        last = std::max(last, end);
    }
};

/// Adds the offset of each process' clock to the times of its events.
/// \param clockName  of the clock that processes without one share
TimeSpan placeOnOneAxis(ForeignTrace& trace, const std::string& clockName);

} // namespace tilescope::exchange
