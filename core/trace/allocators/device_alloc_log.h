#pragma once

#include "core/model/events.h"
#include "core/trace/host/host_record.h"
#include "core/trace/host/ring.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace tilescope::trace {

/// An event of a CUDA caching allocator.
struct DeviceAllocRecord {
    std::int64_t time = 0;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t allocated = 0; ///< after it, as requested by the program
    std::int64_t reserved = 0;
    const void* stream = nullptr; ///< cudaStream_t
    HostContext context{};        ///< without a range
    std::int32_t step = kNoStep;
    std::uint32_t thread = 0; ///< of the operating system; 0: it has no log
    std::uint32_t pool = 0;
    AllocAction action{};
};

/// Passes the events of one device's caching allocator from its trace hook to the tracer's thread.
///
/// note() is called on allocating threads under the allocator's per-device lock, which makes them a single
/// producer. It takes no lock, allocates nothing and accesses only thread-local state of LibTorch. The hook
/// cannot be detached, so logs are never destroyed, and note() returns immediately if nothing is recorded.
class DeviceAllocLog {
public:
    /// The log of a device, which lives as long as the process. Null if the index is beyond the maximum.
    static DeviceAllocLog* of(DeviceIndex device);

    /// Session thread, while nothing allocates on the device.
    /// \param allocated, reserved  bytes now, from which the events' totals count on
    void start(std::size_t capacity, std::int64_t allocated, std::int64_t reserved);
    /// Ends the recording, and notes a requested free that waits for its completion. Other threads may allocate.
    void stop();

    void note(AllocAction action, std::uint64_t address, std::int64_t bytes, const void* stream,
              std::uint32_t pool) noexcept;

    /// The tracer's thread.
    template <class Take> void drain(Take&& take)
    {
        if (ring_)
            ring_->drain([&](const Noted& noted) {
                DeviceAllocRecord record = expanded(noted);
                take(std::as_const(record));
                if (noted.isFreed) {
                    record.action = AllocAction::FreeCompleted;
                    take(std::as_const(record));
                }
            });
    }
    /// Whether it should be drained soon.
    bool pressed() const { return ring_ && ring_->size() > ring_->capacity() / 4; }
    std::uint64_t dropped() const { return ring_ ? ring_->dropped() : 0; }
    /// Bytes allocated after the last event noted. Session thread, after stop().
    std::int64_t allocated() const { return allocated_; }

private:
    /// The record of an event in the ring: one cache line.
    struct alignas(64) Noted {
        std::int64_t time;
        std::uint64_t address;
        std::int64_t bytes;
        std::int64_t
            total; ///< after it: reserved bytes for an event of a segment, allocated bytes for others
        const void* stream;
        std::uint32_t path;
        std::uint32_t op;
        std::int32_t step;
        std::uint32_t thread;
        std::uint32_t pool;
        AllocAction action;
        bool isFreed; ///< a requested free that was completed at once
    };
    static_assert(sizeof(Noted) == 64);

    /// note() while it records.
    void noteRecorded(AllocAction action, std::uint64_t address, std::int64_t bytes, const void* stream,
                      std::uint32_t pool) noexcept;
    std::int64_t totalAfter(AllocAction action, std::int64_t bytes) noexcept;
    DeviceAllocRecord expanded(const Noted& noted) noexcept;

    std::atomic<bool> on_{false};
    std::atomic<bool> isNoting_{false}; ///< note() may use what follows
    std::unique_ptr<Ring<Noted>> ring_;
    // Under the allocator's lock.
    std::int64_t allocated_ = 0;
    std::int64_t reserved_ = 0;
    Noted requested_{};         ///< waits for the next event, which usually is its completion
    bool hasRequested_ = false; ///< a requested free
    // The tracer's thread: after the last event that it took.
    std::int64_t drainedAllocated_ = 0;
    std::int64_t drainedReserved_ = 0;
};

} // namespace tilescope::trace
