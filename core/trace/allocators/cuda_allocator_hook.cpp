#include "core/trace/allocators/cuda_allocator_hook.h"

#include "core/model/memory.h"
#include "core/trace/allocators/device_alloc_log.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace tilescope::trace {

namespace {

using c10::CachingDeviceAllocator::TraceEntry;

AllocAction actionOf(TraceEntry::Action action)
{
    switch (action) {
    case TraceEntry::ALLOC:
        return AllocAction::Alloc;
    case TraceEntry::FREE_REQUESTED:
        return AllocAction::FreeRequested;
    case TraceEntry::FREE_COMPLETED:
        return AllocAction::FreeCompleted;
    case TraceEntry::SEGMENT_ALLOC:
        return AllocAction::SegmentAlloc;
    case TraceEntry::SEGMENT_FREE:
        return AllocAction::SegmentFree;
    case TraceEntry::SEGMENT_MAP:
        return AllocAction::SegmentMap;
    case TraceEntry::SEGMENT_UNMAP:
        return AllocAction::SegmentUnmap;
    case TraceEntry::SNAPSHOT:
        return AllocAction::Snapshot;
    case TraceEntry::OOM:
        return AllocAction::Oom;
    }
    return AllocAction::Snapshot;
}

void note(const TraceEntry& entry)
{
    if (DeviceAllocLog* log = DeviceAllocLog::of(DeviceIndex{entry.device_})) {
        log->note(actionOf(entry.action_), entry.addr_, static_cast<std::int64_t>(entry.size_), entry.stream_,
                  poolNumber(entry.mempool_.first, entry.mempool_.second));
    }
}

} // namespace

bool CudaAllocatorHook::attach()
{
    static bool attached = false;
    // Before CUDA is initialised there is no allocator to attach to, and LibTorch would fail silently.
    if (!attached && at::globalContext().hasCUDA() && c10::cuda::CUDACachingAllocator::get()->initialized()) {
        c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(&note);
        attached = true;
    }
    return attached;
}

CudaAllocatorHook::Totals CudaAllocatorHook::totals(DeviceIndex device)
{
    const auto stats =
        c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device.value));
    const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return {.requested = stats.requested_bytes[all].current, .reserved = stats.reserved_bytes[all].current};
}

} // namespace tilescope::trace
