#include "app/record/device_thread.h"

#include "core/trace/host/quiet_thread.h"

#include <exception>
#include <utility>

namespace tilescope::record {

DeviceThread::DeviceThread() : thread_(trace::startQuietThread("tilescope-dev", [this] { work(); })) {}

DeviceThread::~DeviceThread()
{
    {
        const MutexLock lock(mutex_);
        ends_ = true;
    }
    changed_.notifyAll();
    thread_.join();
}

void DeviceThread::run(const std::function<void()>& task)
{
    MutexLock lock(mutex_);
    task_ = &task;
    changed_.notifyAll();
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return !task_; });
    if (const std::exception_ptr error = std::exchange(error_, nullptr))
        std::rethrow_exception(error);
}

void DeviceThread::work()
{
    MutexLock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return task_ || ends_; });
        if (!task_)
            return;
        const std::function<void()>& task = *task_;
        lock.unlock();
        std::exception_ptr error;
        try {
            task();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        task_ = nullptr;
        changed_.notifyAll();
    }
}

} // namespace tilescope::record
