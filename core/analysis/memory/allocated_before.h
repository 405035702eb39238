#pragma once

#include "core/model/events.h"

namespace tilescope::analysis {

/// The allocated bytes before an event, from the count that the event reports after it.
inline std::int64_t allocatedBefore(const AllocEvent& event)
{
    switch (event.action) {
    case AllocAction::Alloc:
        return event.allocated - event.bytes;
    case AllocAction::FreeRequested:
        return event.allocated + event.bytes;
    case AllocAction::FreeCompleted: // on a GPU, the request has already lowered the count
        return event.allocated + (event.device ? 0 : event.bytes);
    default:
        return event.allocated;
    }
}

} // namespace tilescope::analysis
