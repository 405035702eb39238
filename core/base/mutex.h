#pragma once

// Locks that clang's thread safety analysis understands: a member declares which mutex guards it, a function
// which one its caller must hold, and clang-tidy checks both. Other compilers ignore the annotations.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#ifdef __clang__
#define TILESCOPE_ATTRIBUTE(x) __attribute__((x))
#else
#define TILESCOPE_ATTRIBUTE(x)
#endif

/// The member may only be used while the mutex is held.
#define GUARDED_BY(mutex) TILESCOPE_ATTRIBUTE(guarded_by(mutex))
/// The caller holds the mutex. For a lambda, this applies to its caller.
#define REQUIRES(mutex) TILESCOPE_ATTRIBUTE(requires_capability(mutex))
/// Disables the analysis where it cannot follow the code; add a comment with the reason.
#define NO_THREAD_SAFETY_ANALYSIS TILESCOPE_ATTRIBUTE(no_thread_safety_analysis)

namespace tilescope {

class TILESCOPE_ATTRIBUTE(capability("mutex")) Mutex {
public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    /// For pthread_atfork(): the thread that forks holds the mutex, so that what it guards is whole in the child. Does
    /// not wait for a holder that a signal handler interrupted.
    /// \return  whether it was acquired
    bool acquireToFork() noexcept NO_THREAD_SAFETY_ANALYSIS
    {
        constexpr int kTries = 200;
        for (int i = 0; i < kTries; ++i) {
            if (mutex_.try_lock())
                return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(i < kTries / 2 ? 0 : 1));
        }
        return false;
    }
    /// In the parent and in the child.
    void releaseAfterFork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

private:
    friend class MutexLock;
    std::mutex mutex_;
};

/// Holds a mutex during its lifetime, except between unlock() and lock().
class TILESCOPE_ATTRIBUTE(scoped_lockable) MutexLock {
public:
    explicit MutexLock(Mutex& mutex) TILESCOPE_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
    ~MutexLock() TILESCOPE_ATTRIBUTE(release_capability()) = default;
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

    void unlock() TILESCOPE_ATTRIBUTE(release_capability()) { lock_.unlock(); }
    void lock() TILESCOPE_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

private:
    friend class Condition;
    friend class StoppableCondition;
    std::unique_lock<std::mutex> lock_;
};

/// std::condition_variable. Annotate predicates with REQUIRES(their mutex): they are called with the lock
/// held.
class Condition {
public:
    void notifyAll() noexcept { condition_.notify_all(); }

    template <class Predicate>
    void wait(MutexLock& lock, const Predicate& predicate) NO_THREAD_SAFETY_ANALYSIS
    {
        while (!predicate())
            condition_.wait(lock.lock_);
    }
    /// \return  whether the predicate holds
    template <class Predicate>
    bool waitUntil(MutexLock& lock, std::chrono::steady_clock::time_point until,
                   const Predicate& predicate) NO_THREAD_SAFETY_ANALYSIS
    {
        while (!predicate())
            if (condition_.wait_until(lock.lock_, until) == std::cv_status::timeout)
                return predicate();
        return true;
    }
    template <class Predicate>
    bool waitFor(MutexLock& lock, std::chrono::steady_clock::duration time, const Predicate& predicate)
    {
        return waitUntil(lock, std::chrono::steady_clock::now() + time, predicate);
    }

private:
    std::condition_variable condition_;
};

/// The same for a wait that a stop token ends, too.
class StoppableCondition {
public:
    void notifyAll() noexcept { condition_.notify_all(); }

    template <class Predicate> void wait(MutexLock& lock, std::stop_token stop, const Predicate& predicate)
    {
        condition_.wait(lock.lock_, std::move(stop), predicate);
    }
    /// Sleeps until `stop` is requested or the time has passed.
    void sleep(MutexLock& lock, const std::stop_token& stop, std::chrono::duration<double> time)
    {
        condition_.wait_for(lock.lock_, stop, time, [] { return false; });
    }

private:
    std::condition_variable_any condition_;
};

} // namespace tilescope
