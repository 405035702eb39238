#pragma once

#include "core/base/units.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <optional>

namespace tilescope::query {

/// A span of a recording, [from, to), from the start of its first event on.
struct TimeSpan {
    Nanoseconds from{0};
    Nanoseconds to = Nanoseconds::max();

    bool operator==(const TimeSpan&) const = default;
};

/// The events of a run that overlap a span; all without one.
inline store::EventWindow windowOf(const store::RunReader& reader, RunId run,
                                   const std::optional<TimeSpan>& span)
{
    store::EventWindow window{.run = run};
    if (const auto recorded = reader.span(run); span && recorded) {
        window.from = recorded->first + span->from;
        window.to =
            span->to < recorded->second - recorded->first ? recorded->first + span->to : recorded->second;
    }
    return window;
}

/// Cuts an event to its part in the window.
template <class Event> void clip(Event& event, const store::EventWindow& window)
{
    event.start = std::max(event.start, window.from);
    event.end = std::max(event.start, std::min(event.end, window.to));
}

} // namespace tilescope::query
