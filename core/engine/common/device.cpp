#include "core/engine/common/device.h"

#include "core/base/mutex.h"
#include "core/engine/common/host_memory.h"
#include "core/trace/allocators/cpu_allocator.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <mutex>

namespace tilescope::engine {
namespace {

using trace::CpuAllocator;
namespace allocator = c10::cuda::CUDACachingAllocator;

constexpr std::size_t kAggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

Mutex refusedMutex;
std::optional<RefusedAllocation> refused GUARDED_BY(refusedMutex);

// LibTorch calls this on the allocating thread after releasing the allocator's lock. Its second argument,
// which LibTorch names `allocated`, is the size of the failed request.
void noteRefusal(std::int64_t device, std::size_t requested, std::size_t /*total*/, std::size_t /*free*/)
{
    const auto stats = allocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    const MutexLock lock(refusedMutex);
    refused = RefusedAllocation{{static_cast<std::int64_t>(requested)},
                                {stats.allocated_bytes[kAggregate].current},
                                {stats.reserved_bytes[kAggregate].current}};
}

} // namespace

Device::Device(at::Device device) : device_(device) {}

std::string Device::name() const
{
    return isCuda() ? "cuda:" + std::to_string(device_.index()) : "cpu";
}

void Device::synchronize() const
{
    if (isCuda())
        c10::cuda::device_synchronize();
}

MemoryFigures Device::memory() const
{
    if (!isCuda())
        // The CPU allocator does not cache, so there is no reserved memory.
        return {.allocated = CpuAllocator::current(), .peakAllocated = CpuAllocator::peak()};
    const auto stats = allocator::getDeviceStats(device_.index());
    const auto& allocated = stats.allocated_bytes[kAggregate];
    const auto& reserved = stats.reserved_bytes[kAggregate];
    return {Bytes{allocated.current}, Bytes{reserved.current}, Bytes{allocated.peak}, Bytes{reserved.peak}};
}

void Device::resetPeaks() const
{
    if (isCuda())
        allocator::resetPeakStats(device_.index());
    else
        CpuAllocator::resetPeak();
}

void Device::limitMemory(std::optional<Bytes> limit, int processes) const
{
    if (!isCuda()) {
        const Bytes share{defaultHostLimit().count / processes};
        CpuAllocator::setLimit(limit.value_or(CpuAllocator::current() + share));
        return;
    }
    double fraction = 1;
    if (limit) {
        const auto total = at::cuda::getDeviceProperties(device_.index())->totalGlobalMem;
        fraction = std::min(1.0, static_cast<double>(limit->count) / static_cast<double>(total));
    }
    allocator::setMemoryFraction(fraction, device_.index());
}

void Device::liftMemoryLimit() const
{
    if (isCuda())
        allocator::setMemoryFraction(1, device_.index());
    else
        CpuAllocator::clearLimit();
}

void Device::clean() const
{
    if (isCuda()) {
        const DeviceScope onDevice(*this);
        synchronize();
        at::cuda::clearCublasWorkspaces();
        allocator::emptyCache();
    }
    resetPeaks();
}

struct DeviceScope::Guards {
    c10::cuda::CUDAGuard device;
    std::optional<c10::cuda::CUDAStreamGuard> stream = {};
};

DeviceScope::DeviceScope(const Device& device, bool ownStream)
{
    if (!device.isCuda())
        return;
    guards_.reset(new Guards{c10::cuda::CUDAGuard(device.torch())});
    if (ownStream) // high priority: other streams use the resources that it leaves free
        guards_->stream.emplace(c10::cuda::getStreamFromPool(true, device.torch().index()));
}

DeviceScope::~DeviceScope() = default;

std::optional<RefusedAllocation> takeRefusedAllocation()
{
    const MutexLock lock(refusedMutex);
    return std::exchange(refused, std::nullopt);
}

void initializeCuda()
{
    static std::once_flag once;
    std::call_once(once, [] {
        at::globalContext().lazyInitDevice(at::kCUDA);
        allocator::attachOutOfMemoryObserver(noteRefusal);
    });
}

} // namespace tilescope::engine
