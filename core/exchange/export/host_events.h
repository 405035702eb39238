#pragma once

#include "core/model/events.h"
#include "core/store/run_reader.h"

#include <cstddef>
#include <functional>
#include <variant>

namespace tilescope::exchange {

/// An event of a host thread. Frames of an interpreter are the outermost kind, API calls the innermost.
using HostEvent = std::variant<Frame, Range, Op, ApiCall>;

inline Timestamp startOf(const HostEvent& event)
{
    return std::visit([](const auto& each) { return each.start; }, event);
}
inline Timestamp endOf(const HostEvent& event)
{
    return std::visit([](const auto& each) { return std::max(each.start, each.end); }, event);
}
inline ThreadId threadOf(const HostEvent& event)
{
    return std::visit([](const auto& each) { return each.thread; }, event);
}

inline constexpr std::size_t kEventsAtOnce = 200'000;

/// Visits every range, op, API call and frame of a run in start order. Of events with the same start, the
/// longest comes first; of equally long events, the outermost.
///
/// Reads the run in intervals of at most about `most` events and holds only one interval in memory. An
/// interval is larger if more events start in one nanosecond.
void eachHostEvent(const store::RunReader& reader, RunId run,
                   const std::function<void(const HostEvent&)>& take, std::size_t most = kEventsAtOnce);

/// Visits every device event of a run in start order.
void eachDeviceEvent(const store::RunReader& reader, RunId run,
                     const std::function<void(const DeviceEvent&)>& take, std::size_t most = kEventsAtOnce);

} // namespace tilescope::exchange
