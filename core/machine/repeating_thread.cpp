#include "core/machine/repeating_thread.h"

#include <pthread.h>

#include <utility>

namespace tilescope::machine {

RepeatingThread::RepeatingThread(const char* name, Step step)
    : step_(std::move(step)), thread_([this] { run(); })
{
    pthread_setname_np(thread_.native_handle(), name);
}

RepeatingThread::~RepeatingThread()
{
    end();
}

void RepeatingThread::end()
{
    if (!thread_.joinable())
        return;
    {
        const MutexLock lock(mutex_);
        ended_ = true;
    }
    changed_.notifyAll();
    thread_.join();
}

void RepeatingThread::run()
{
    for (std::optional<Clock::time_point> next = step_(); next; next = step_()) {
        MutexLock lock(mutex_);
        if (changed_.waitUntil(lock, *next, [this]() REQUIRES(mutex_) { return ended_; }))
            return;
    }
}

} // namespace tilescope::machine
