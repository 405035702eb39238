#pragma once

#include "core/base/mutex.h"

/// The caller must not hold the mutex, because the function takes it or may wait for a thread that does.
#define EXCLUDES(...) TILESCOPE_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// A thread that takes both mutexes takes this one first.
#define ACQUIRED_BEFORE(...) TILESCOPE_ATTRIBUTE(acquired_before(__VA_ARGS__))

namespace tilescope {

/// A mutex that is held during calls of another library. Callbacks of that library must not wait for it, because the
/// call may wait for the end of the callback; they try to take it.
class TILESCOPE_ATTRIBUTE(capability("mutex")) TryMutex {
public:
    TryMutex() = default;
    TryMutex(const TryMutex&) = delete;
    TryMutex& operator=(const TryMutex&) = delete;

    /// Takes the mutex if no thread holds it. Pass it on to a TryMutexLock with std::adopt_lock.
    bool tryLock() TILESCOPE_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

private:
    friend class TryMutexLock;
    std::mutex mutex_;
};

/// Holds a TryMutex during its lifetime.
class TILESCOPE_ATTRIBUTE(scoped_lockable) TryMutexLock {
public:
    /// Waits. Not in a callback.
    explicit TryMutexLock(TryMutex& mutex) TILESCOPE_ATTRIBUTE(acquire_capability(mutex))
        : lock_(mutex.mutex_)
    {
    }
    /// Holds a mutex that this thread has taken by tryLock().
    TryMutexLock(TryMutex& mutex, std::adopt_lock_t adopted) TILESCOPE_ATTRIBUTE(requires_capability(mutex))
        : lock_(mutex.mutex_, adopted)
    {
    }
    ~TryMutexLock() TILESCOPE_ATTRIBUTE(release_capability()) = default;
    TryMutexLock(const TryMutexLock&) = delete;
    TryMutexLock& operator=(const TryMutexLock&) = delete;

private:
    std::unique_lock<std::mutex> lock_;
};

} // namespace tilescope
