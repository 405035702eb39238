#include "core/trace/allocators/device_alloc_log.h"

#include "core/base/units.h"
#include "core/trace/host/host_log.h"

#include <array>

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
        ring_ = std::make_unique<Ring<DeviceAllocRecord>>(capacity);
    // Discard records noted while the last recording was being stopped.
    ring_->drain([](const DeviceAllocRecord&) {});
    allocated_ = allocated;
    reserved_ = reserved;
    on_.store(true, std::memory_order_release);
}

void DeviceAllocLog::note(AllocAction action, std::uint64_t address, std::int64_t bytes, const void* stream,
                          std::uint32_t pool) noexcept
{
    if (!on_.load(std::memory_order_acquire))
        return;
    switch (action) {
    case AllocAction::Alloc:
        allocated_ += bytes;
        break;
    case AllocAction::FreeRequested:
        allocated_ -= bytes;
        break;
    case AllocAction::SegmentAlloc:
    case AllocAction::SegmentMap:
        reserved_ += bytes;
        break;
    case AllocAction::SegmentFree:
    case AllocAction::SegmentUnmap:
        reserved_ -= bytes;
        break;
    default:
        break;
    }
    const HostLogs& logs = HostLogs::instance();
    // Most blocks are free as soon as that is requested: the place is that of the request.
    if (action != AllocAction::FreeCompleted || address != requested_)
        place_ = HostLogs::here();
    requested_ = action == AllocAction::FreeRequested ? address : 0;
    ring_->push({.time = nanosecondsOf(TraceClock::now()),
                 .address = address,
                 .bytes = bytes,
                 .allocated = allocated_,
                 .reserved = reserved_,
                 .stream = stream,
                 .context = place_,
                 .step = logs.step(),
                 .thread = HostLogs::hereThread(),
                 .pool = pool,
                 .action = action});
}

} // namespace tilescope::trace
