#pragma once

#include "core/base/mutex.h"

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

namespace tilescope::machine {

/// Calls a function on a thread of its own, again and again. Only the owner's thread may call members.
class RepeatingThread {
public:
    using Clock = std::chrono::steady_clock;
    /// Returns when it is called again; none: never.
    using Step = std::function<std::optional<Clock::time_point>()>;

    /// \param name  of the thread, at most 15 characters
    RepeatingThread(const char* name, Step step);
    ~RepeatingThread();
    RepeatingThread(const RepeatingThread&) = delete;
    RepeatingThread& operator=(const RepeatingThread&) = delete;

    /// Waits for a call that runs; there is none afterwards.
    void end();

private:
    void run();

    const Step step_; ///< the thread's until it has ended
    Mutex mutex_;
    Condition changed_;
    bool ended_ GUARDED_BY(mutex_) = false;
    std::thread thread_; ///< started last
};

} // namespace tilescope::machine
