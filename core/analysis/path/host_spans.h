#pragma once

#include "core/analysis/time/busy_time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Something that a thread did: a range, an op, a call. It may be empty.
struct HostEvent {
    Interval time{};
    std::uint32_t source = 0; ///< number that the caller assigns
};

/// A stretch of a thread's time with one innermost event.
struct HostSpan {
    Interval time{};
    std::optional<std::uint32_t> event = {}; ///< index of the innermost event; none: no event is open
};

/// Cuts the time of a thread where its innermost event changes, and at each of `cuts`. The spans are
/// contiguous and in order of time, from the first event to the end of the last. The innermost event is the
/// open event that began last; among events with the same start, it is the last in the list.
/// \param events  in order of their start
/// \param cuts    in order
/// O(n log n).
std::vector<HostSpan> hostSpans(std::span<const HostEvent> events, std::span<const Timestamp> cuts);

} // namespace tilescope::analysis
