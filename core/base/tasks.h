#pragma once

#include "core/base/mutex.h"

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace tilescope {

/// Runs independent jobs on all processors. The owner adds jobs and waits for them in finish(), and runs some itself;
/// only it may call members. Threads start when jobs wait. The destructor drops jobs that have not begun.
class Tasks {
public:
    using Job = std::function<void()>;

    /// \param threads  at most, the owner's included; 0: one per processor
    explicit Tasks(std::size_t threads = 0);
    ~Tasks();
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;

    /// If many jobs wait, runs one first, so that few hold their data.
    void add(Job job);
    /// Returns when all jobs have ended.
    /// \throws  what the first job threw that failed; jobs that had not begun by then are dropped
    void finish();

private:
    void work();
    bool runNext();
    void run(const Job& job) noexcept;
    void stop();

    const std::size_t others_; // threads besides the owner's, at most
    Mutex mutex_;
    Condition changed_;
    std::deque<Job> waiting_ GUARDED_BY(mutex_);
    std::size_t running_ GUARDED_BY(mutex_) = 0;
    std::exception_ptr failure_ GUARDED_BY(mutex_);
    bool stopped_ GUARDED_BY(mutex_) = false;
    std::vector<std::thread> threads_; // last: they use the others
};

} // namespace tilescope
