#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tilescope::trace {

/// The memory CUPTI writes activity records into: a fixed number of buffers, allocated and touched
/// beforehand.
///
/// CUPTI's threads call request() and complete(), which only move ownership: decoding there would hold up the
/// program that is traced, and CUPTI's own locks may be held. The tracer's thread calls take() and
/// giveBack().
class ActivityBuffers {
public:
    struct Filled {
        std::uint8_t* data = nullptr;
        std::size_t bytes = 0;   ///< written
        void* context = nullptr; ///< CUcontext
        std::uint32_t stream = 0;
    };

    ActivityBuffers(std::size_t count, std::size_t bytes);

    std::size_t bytesEach() const { return bytes_; }

    /// A zeroed buffer, null if all are in use: CUPTI then drops records and counts them.
    std::uint8_t* request() noexcept;
    void complete(const Filled& filled) noexcept;

    /// The oldest buffer that waits to be decoded.
    std::optional<Filled> take();
    /// Makes a decoded buffer ready for use again.
    void giveBack(const Filled& filled);

    /// Buffers that CUPTI holds now.
    std::size_t lent() const;
    /// How often request() had none to give.
    std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

private:
    struct Free {
        void operator()(std::uint8_t* data) const;
    };

    const std::size_t bytes_;
    std::vector<std::unique_ptr<std::uint8_t, Free>> memory_;
    std::atomic<std::uint64_t> refusals_{0};

    mutable std::mutex mutex_;
    // Guarded by mutex_. Room for every buffer is reserved, so that no call from CUPTI allocates.
    std::vector<std::uint8_t*> free_;
    std::vector<Filled> filled_; // a ring: filledCount_ entries from firstFilled_
    std::size_t firstFilled_ = 0;
    std::size_t filledCount_ = 0;
    std::size_t lent_ = 0;
};

} // namespace tilescope::trace
