#include "core/base/tasks.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

constexpr std::size_t kMostWaiting = 1024;

std::size_t processors()
{
    return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

} // namespace

Tasks::Tasks(std::size_t threads) : others_((threads == 0 ? processors() : threads) - 1) {}

Tasks::~Tasks()
{
    stop();
}

void Tasks::add(Job job)
{
    std::size_t waiting = 0;
    {
        const MutexLock lock(mutex_);
        waiting_.push_back(std::move(job));
        waiting = waiting_.size();
        changed_.notifyAll();
    }
    // A single job is left to the owner: it is about to wait.
    if (waiting > 1 && threads_.size() < others_)
        threads_.emplace_back([this] { work(); });
    if (waiting > kMostWaiting)
        runNext();
}

void Tasks::finish()
{
    while (runNext()) {
    }
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return running_ == 0; });
    if (const std::exception_ptr failure = std::exchange(failure_, nullptr))
        std::rethrow_exception(failure);
}

// Whether there was a job.
bool Tasks::runNext()
{
    Job job;
    {
        const MutexLock lock(mutex_);
        if (waiting_.empty())
            return false;
        job = std::move(waiting_.front());
        waiting_.pop_front();
        ++running_;
    }
    run(job);
    return true;
}

void Tasks::run(const Job& job) noexcept
{
    std::exception_ptr failure;
    try {
        job();
    } catch (...) {
        failure = std::current_exception();
    }
    const MutexLock lock(mutex_);
    --running_;
    if (failure) {
        if (!failure_)
            failure_ = failure;
        waiting_.clear();
    }
    changed_.notifyAll();
}

void Tasks::work()
{
    for (;;) {
        {
            MutexLock lock(mutex_);
            changed_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !waiting_.empty(); });
            if (stopped_)
                return;
        }
        runNext();
    }
}

void Tasks::stop()
{
    {
        const MutexLock lock(mutex_);
        stopped_ = true;
        waiting_.clear();
        changed_.notifyAll();
    }
    for (std::thread& thread : threads_)
        thread.join();
}

} // namespace tilescope
