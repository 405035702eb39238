#pragma once

#include "core/base/mutex.h"
#include "core/session/protocol/event.h"

namespace tilescope::session {

/// Writes events to a descriptor, one complete line each. Any thread. A closed reader is not an error here:
/// InputLines detects it and ends the work.
class EventStream {
public:
    explicit EventStream(int descriptor) : descriptor_(descriptor) {}
    void operator()(const Event& event);

private:
    Mutex mutex_; // keeps lines whole
    const int descriptor_;
};

} // namespace tilescope::session
