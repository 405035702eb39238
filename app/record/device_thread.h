#pragma once

#include "core/base/mutex.h"

#include <functional>
#include <thread>

namespace tilescope::record {

/// A thread that calls CUDA and CUPTI for the thread that writes the recording, which has no descriptors of the program
/// (separateDescriptors()). One other thread uses it, and ends it by destroying it.
class DeviceThread {
public:
    /// \throws std::system_error  the process may not start a thread
    DeviceThread();
    ~DeviceThread();
    DeviceThread(const DeviceThread&) = delete;
    DeviceThread& operator=(const DeviceThread&) = delete;

    /// Calls `task` in this thread and waits for it. Passes on what it throws.
    void run(const std::function<void()>& task);

private:
    void work();

    Mutex mutex_;
    const std::function<void()>* task_ GUARDED_BY(mutex_) = nullptr; ///< null: it has been done
    std::exception_ptr error_ GUARDED_BY(mutex_);
    bool ends_ GUARDED_BY(mutex_) = false;
    Condition changed_;
    std::thread thread_;
};

} // namespace tilescope::record
