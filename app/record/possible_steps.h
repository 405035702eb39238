#pragma once

#include "core/base/mutex.h"

#include <cstdint>
#include <vector>

namespace tilescope::record {

/// Ends of steps of one thread that are known to be steps, or not, only from what the thread does later. Any thread.
class PossibleSteps {
public:
    struct Steps {
        std::uint32_t thread = 0;
        std::vector<std::int64_t> ends; ///< ns, ascending
    };

    /// A step of the calling thread may have ended.
    /// \param isOneAtTheEnd  it is one, and so are those before it, if the process ends before this is decided
    void note(std::int64_t end, bool isOneAtTheEnd);
    /// Those of the calling thread, for the last time.
    Steps take();
    /// Those that are steps if the process ends now.
    Steps takeAtTheEnd();

private:
    Mutex mutex_;
    Steps steps_ GUARDED_BY(mutex_);
    bool areStepsAtTheEnd_ GUARDED_BY(mutex_) = false;
};

} // namespace tilescope::record
