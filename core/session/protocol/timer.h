#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tilescope::session {

/// Calls something once, on a thread of its own, unless it is destroyed before the time has come. After the
/// destructor it will not be called any more.
class Timer {
public:
    Timer(std::chrono::duration<double> after, std::function<void()> action)
        : thread_([this, after, action = std::move(action)](std::stop_token stop) {
              std::unique_lock lock(mutex_);
              if (!wake_.wait_for(lock, stop, after, [] { return false; }) && !stop.stop_requested())
                  action();
          })
    {
    }

private:
    std::mutex mutex_; // only what the thread sleeps on
    std::condition_variable_any wake_;
    std::jthread thread_;
};

} // namespace tilescope::session
