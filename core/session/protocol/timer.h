#pragma once

#include "core/base/mutex.h"

#include <chrono>
#include <functional>
#include <thread>

namespace tilescope::session {

/// Calls something once, on a thread of its own, unless it is destroyed before the time has come. After the
/// destructor it will not be called any more.
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
    Mutex mutex_; // only what the thread sleeps on
    StoppableCondition wake_;
    std::jthread thread_;
};

} // namespace tilescope::session
