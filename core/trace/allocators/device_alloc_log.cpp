#include "core/trace/allocators/device_alloc_log.h"

#include "core/base/units.h"
#include "core/trace/host/host_log.h"

#include <array>
#include <thread>

namespace tilescope::trace {

DeviceAllocLog* DeviceAllocLog::of(DeviceIndex device)
{
    constexpr std::size_t kMostDevices = 64;
    static auto* const logs = new std::array<DeviceAllocLog, kMostDevices>;
    const auto index = static_cast<std::size_t>(device.value);
    return index < kMostDevices ? &(*logs)[index] : nullptr;
}

void DeviceAllocLog::start(std::size_t capacity, std::int64_t allocated, std::int64_t reserved)
{
    if (!ring_ || ring_->capacity() < capacity)
        ring_ = std::make_unique<Ring<Noted>>(capacity);
    // Discard records noted while the last recording was being stopped.
    ring_->drain([](const Noted&) {});
    allocated_ = drainedAllocated_ = allocated;
    reserved_ = drainedReserved_ = reserved;
    hasRequested_ = false;
    on_.store(true, std::memory_order_release);
}

void DeviceAllocLog::stop()
{
    // Sequentially consistent, like both in note(): either note() sees the end of the recording, or this
    // thread waits for it.
    on_.store(false);
    while (isNoting_.load())
        std::this_thread::yield();
    if (std::exchange(hasRequested_, false))
        ring_->push(requested_);
}

std::int64_t DeviceAllocLog::totalAfter(AllocAction action, std::int64_t bytes) noexcept
{
    switch (action) {
    case AllocAction::Alloc:
        return allocated_ += bytes;
    case AllocAction::FreeRequested:
        return allocated_ -= bytes;
    case AllocAction::SegmentAlloc:
    case AllocAction::SegmentMap:
        return reserved_ += bytes;
    case AllocAction::SegmentFree:
    case AllocAction::SegmentUnmap:
        return reserved_ -= bytes;
    default:
        return allocated_;
    }
}

void DeviceAllocLog::note(AllocAction action, std::uint64_t address, std::int64_t bytes, const void* stream,
                          std::uint32_t pool) noexcept
{
    if (!on_.load(std::memory_order_relaxed))
        return;
    isNoting_.store(true);
    if (on_.load())
        noteRecorded(action, address, bytes, stream, pool);
    isNoting_.store(false, std::memory_order_release);
}

void DeviceAllocLog::noteRecorded(AllocAction action, std::uint64_t address, std::int64_t bytes,
                                  const void* stream, std::uint32_t pool) noexcept
{
    if (hasRequested_) {
        hasRequested_ = false;
        // Most blocks are free as soon as that is requested.
        requested_.isFreed = action == AllocAction::FreeCompleted && address == requested_.address;
        ring_->push(requested_);
        if (requested_.isFreed)
            return;
    }
    const HostContext place = HostLogs::here();
    const Noted noted{.time = nanosecondsOf(TraceClock::now()),
                      .address = address,
                      .bytes = bytes,
                      .total = totalAfter(action, bytes),
                      .stream = stream,
                      .path = place.path,
                      .op = place.op,
                      .step = HostLogs::instance().step(),
                      .thread = HostLogs::hereThread(),
                      .pool = pool,
                      .action = action,
                      .isFreed = false};
    hasRequested_ = action == AllocAction::FreeRequested;
    if (hasRequested_)
        requested_ = noted;
    else
        ring_->push(noted);
}

DeviceAllocRecord DeviceAllocLog::expanded(const Noted& noted) noexcept
{
    const bool isSegment =
        noted.action == AllocAction::SegmentAlloc || noted.action == AllocAction::SegmentMap ||
        noted.action == AllocAction::SegmentFree || noted.action == AllocAction::SegmentUnmap;
    (isSegment ? drainedReserved_ : drainedAllocated_) = noted.total;
    return {.time = noted.time,
            .address = noted.address,
            .bytes = noted.bytes,
            .allocated = drainedAllocated_,
            .reserved = drainedReserved_,
            .stream = noted.stream,
            .context = {.path = noted.path, .range = kNone, .op = noted.op},
            .step = noted.step,
            .thread = noted.thread,
            .pool = noted.pool,
            .action = noted.action};
}

} // namespace tilescope::trace
