#pragma once

#include "core/base/units.h"
#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope::exchange {

struct Interval {
    Timestamp start;
    Timestamp end;
};

/// The interval between two time stamps of a record; none, and a counted loss, if one is missing. The builder
/// checks the values.
/// \param what  which records, for the loss: "kernels"
inline std::optional<Interval> intervalOf(std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                                          std::string_view what, TraceBuilder& builder)
{
    if (start && end)
        return Interval{timestampAt(*start), timestampAt(*end)};
    builder.addLoss(RecordLoss::SourceUnreadable, 1, what);
    return {};
}

/// Whether a time can be stored: sums of times stay in range if each is.
inline bool isTime(Timestamp time)
{
    constexpr std::int64_t kLatest = std::int64_t{1} << 61;
    return nanosecondsOf(time) > -kLatest && nanosecondsOf(time) < kLatest;
}

/// Rule "missing times": leaves out events more than kFarNs from the middle host event of their clock, or
/// without host events from its middle device activity. O(n).
/// \param trace  times on the clocks of their processes
void leaveOutFarEvents(ForeignTrace& trace);

} // namespace tilescope::exchange
