#pragma once

#include "core/base/mutex.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace tilescope {

/// Hands values from the thread that makes them to the one that uses them, in order. Holds few, so that a fast
/// maker waits and memory stays bounded. Either side may close it, which ends both.
template <class Value> class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t most) : most_(most) {}

    /// Waits for room. False if the queue is closed; the value is dropped then.
    bool push(Value&& value)
    {
        MutexLock lock(mutex_);
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || values_.size() < most_; });
        if (closed_)
            return false;
        values_.push_back(std::move(value));
        changed_.notifyAll();
        return true;
    }
    /// Waits for a value. None if the queue is closed and empty.
    std::optional<Value> pop()
    {
        MutexLock lock(mutex_);
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || !values_.empty(); });
        if (values_.empty())
            return {};
        Value value = std::move(values_.front());
        values_.pop_front();
        changed_.notifyAll();
        return value;
    }
    void close()
    {
        const MutexLock lock(mutex_);
        closed_ = true;
        changed_.notifyAll();
    }

private:
    const std::size_t most_;
    Mutex mutex_;
    Condition changed_;
    std::deque<Value> values_ GUARDED_BY(mutex_);
    bool closed_ GUARDED_BY(mutex_) = false;
};

} // namespace tilescope
