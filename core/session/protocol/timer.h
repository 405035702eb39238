#pragma once

#include "core/base/mutex.h"

#include <chrono>
#include <functional>
#include <thread>

namespace tilescope::session {

/// Calls a function once, on a separate thread, unless destroyed before the deadline. The function is not
/// called after the destructor returns.
class Timer {
public:
    Timer(std::chrono::duration<double> after, std::function<void()> action)
        : thread_([this, after, action = std::move(action)](std::stop_token stop) {
              MutexLock lock(mutex_);
              wake_.sleep(lock, stop, after);
              if (!stop.stop_requested())
                  action();
          })
    {
    }

private:
    Mutex mutex_; // protects only the condition of the sleeping thread
    StoppableCondition wake_;
    std::jthread thread_;
};

} // namespace tilescope::session
