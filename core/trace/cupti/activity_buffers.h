#pragma once

#include "core/base/mutex.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::trace {

/// The memory for CUPTI's activity records: a fixed number of buffers in one reserved address range.
///
/// The first few are committed in advance and are used first: a steady trace never needs others. Records
/// arrive in bursts, for example all kernels of a step at its end, so there are many more buffers, which use
/// memory only during a burst.
///
/// CUPTI's threads call request() and complete(), which only move ownership: decoding there would delay the
/// traced program, possibly while CUPTI holds locks. The tracer's thread calls take() and giveBack().
class ActivityBuffers {
public:
    struct Filled {
        std::uint8_t* data = nullptr;
        std::size_t bytes = 0;   ///< written
        void* context = nullptr; ///< CUcontext
        std::uint32_t stream = 0;
    };

    /// \throws std::bad_alloc  not even the first few buffers can be allocated
    ActivityBuffers(std::size_t count, std::size_t bytes);

    std::size_t bytesEach() const { return bytes_; }
    /// Number of buffers: fewer than requested if the process may not reserve that much.
    std::size_t count() const { return count_; }

    /// A zeroed buffer, null if all are in use: CUPTI then drops records and counts them.
    std::uint8_t* request() noexcept;
    void complete(const Filled& filled) noexcept;

    /// The oldest buffer that waits to be decoded.
    std::optional<Filled> take();
    /// Makes a decoded buffer ready for use again.
    void giveBack(const Filled& filled);

    /// Whether enough buffers wait that they should be decoded soon.
    bool pressed() const;
    /// Buffers that CUPTI holds now.
    std::size_t lent() const;
    /// The number of calls of request() for which no buffer was free.
    std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

private:
    /// Gives the addresses back to the system.
    struct Unmap {
        std::size_t bytes;
        void operator()(std::uint8_t* memory) const;
    };
    std::size_t indexOf(const std::uint8_t* data) const
    {
        return static_cast<std::size_t>(data - memory_.get()) / bytes_;
    }

    std::size_t bytes_;
    std::size_t count_;
    std::unique_ptr<std::uint8_t, Unmap> memory_;
    std::atomic<std::uint64_t> refusals_{0};

    mutable Mutex mutex_;
    // Room for every buffer is reserved, so that no call from CUPTI allocates.
    std::vector<std::uint8_t*> warm_ GUARDED_BY(mutex_); // free, their memory is there
    std::vector<std::uint8_t*> cold_ GUARDED_BY(mutex_); // free; their memory is committed on first write
    std::vector<Filled> filled_ GUARDED_BY(mutex_);      // a ring: filledCount_ entries from firstFilled_
    std::size_t firstFilled_ GUARDED_BY(mutex_) = 0;
    std::size_t filledCount_ GUARDED_BY(mutex_) = 0;
    std::size_t lent_ GUARDED_BY(mutex_) = 0;
};

} // namespace tilescope::trace
