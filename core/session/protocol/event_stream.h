#pragma once

#include "core/base/mutex.h"
#include "core/session/protocol/event.h"

namespace tilescope::session {

/// Writes events to a descriptor, one line each, whole. Any thread may call it. A reader that is gone is not
/// an error here: whoever watches it (InputLines) ends the work.
class EventStream {
public:
    explicit EventStream(int descriptor) : descriptor_(descriptor) {}
    void operator()(const Event& event);

private:
    Mutex mutex_; // keeps lines whole
    const int descriptor_;
};

} // namespace tilescope::session
