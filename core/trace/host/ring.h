#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilescope::trace {

/// A queue of plain records between one producer and one consumer: no lock, and no allocation after
/// construction.
///
/// "One" means one at a time: producers that are serialised by a lock, such as the caching allocator's, count
/// as one. A push into a full ring is dropped and counted; existing records stay.
template <class T> class Ring {
public:
    /// \param capacity  records held at most; rounded up to a power of two
    explicit Ring(std::size_t capacity) { resize(capacity); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    std::size_t capacity() const { return mask_ + 1; }

    /// While there is neither producer nor consumer. What the ring held is gone.
    void resize(std::size_t capacity)
    {
        if (slots_ && std::bit_ceil(capacity) == this->capacity())
            return;
        slots_ = std::make_unique<T[]>(std::bit_ceil(capacity));
        mask_ = std::bit_ceil(capacity) - 1;
        head_ = tail_ = tailSeen_ = 0;
    }

    /// Producer. Returns whether there was room.
    bool push(const T& record) noexcept
    {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head - tailSeen_ > mask_) {
            tailSeen_ = tail_.load(std::memory_order_acquire);
            if (head - tailSeen_ > mask_) {
                dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                return false;
            }
        }
        // The consumer on another core last read the line that will be written some pushes from now;
        // prefetching it avoids the wait.
        __builtin_prefetch(&slots_[(head + kAhead) & mask_], 1);
        slots_[head & mask_] = record;
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

    /// Consumer. Passes every available record to `take`, oldest first, and frees each record's space.
    template <class Take> std::size_t drain(Take&& take)
    {
        const std::uint64_t head = head_.load(std::memory_order_acquire);
        const std::uint64_t first = tail_.load(std::memory_order_relaxed);
        for (std::uint64_t tail = first; tail != head; ++tail) {
            take(slots_[tail & mask_]);
            if ((tail & kReleaseEvery) == kReleaseEvery)
                tail_.store(tail + 1, std::memory_order_release);
        }
        tail_.store(head, std::memory_order_release);
        return head - first;
    }

    /// Records waiting, more or less. Any thread.
    std::size_t size() const noexcept
    {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        return static_cast<std::size_t>(head_.load(std::memory_order_relaxed) - tail);
    }

    /// Records dropped since construction. Any thread.
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t kReleaseEvery = 255;
    static constexpr std::uint64_t kAhead = 4;

    std::unique_ptr<T[]> slots_;
    std::uint64_t mask_ = 0;
    // Separate cache lines for producer and consumer, to avoid false sharing.
    alignas(64) std::atomic<std::uint64_t> head_{0};
    std::uint64_t tailSeen_ = 0;
    std::atomic<std::uint64_t> dropped_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};
};

} // namespace tilescope::trace
