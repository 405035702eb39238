#include "app/record/device_thread.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <utility>

namespace tilescope::record {

std::thread startQuietThread(const char* name, std::function<void()> run)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread(std::move(run));
        pthread_setname_np(thread.native_handle(), name);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

DeviceThread::DeviceThread() : thread_(startQuietThread("tilescope-dev", [this] { work(); })) {}

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
