#pragma once

#include "core/model/events.h"
#include "core/store/run_reader.h"

#include <cstddef>
#include <functional>
#include <variant>

namespace tilescope::exchange {

/// What a host thread did. Frames of an interpreter are the outermost, API calls the innermost.
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

/// Gives every range, op, API call and frame of a run in start order; of those that start together, the
/// longest first, and of equal ones the outermost.
///
/// Reads the run in intervals of at most about `most` events, which are all that it holds in memory, except
/// where more events start in one nanosecond.
void eachHostEvent(const store::RunReader& reader, RunId run,
                   const std::function<void(const HostEvent&)>& take, std::size_t most = kEventsAtOnce);

/// The same for what ran on devices.
void eachDeviceEvent(const store::RunReader& reader, RunId run,
                     const std::function<void(const DeviceEvent&)>& take, std::size_t most = kEventsAtOnce);

} // namespace tilescope::exchange
