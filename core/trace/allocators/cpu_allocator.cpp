#include "core/trace/allocators/cpu_allocator.h"

#include "core/base/mutex.h"
#include "core/trace/host/host_log.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <string>

namespace tilescope::trace {

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
// The block's size is stored before it. 64 bytes keep LibTorch's alignment.
constexpr std::size_t kHeader = 64;

std::atomic<std::int64_t> allocated{0};
std::atomic<std::int64_t> peakAllocated{0};
std::atomic<std::int64_t> limitBytes{kNoLimit};

Mutex failureMutex;
std::optional<CpuOutOfMemory> failure GUARDED_BY(failureMutex);

void raisePeak(std::int64_t now)
{
    std::int64_t seen = peakAllocated.load(std::memory_order_relaxed);
    while (now > seen && !peakAllocated.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
}

[[noreturn]] void failAllocation(std::int64_t requested, std::int64_t held, std::optional<Bytes> limit,
                                 const std::string& why)
{
    {
        const MutexLock lock(failureMutex);
        failure = CpuOutOfMemory{.requested = {requested}, .allocated = {held}, .limit = limit};
    }
    noteCpuAllocation(AllocAction::Oom, nullptr, requested, held);
    throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
                                "CPU out of memory: tried to allocate " + std::to_string(requested) +
                                    " bytes with " + std::to_string(held) + " bytes allocated; " + why);
}

/// Takes `bytes` from the limit, or throws.
std::int64_t reserve(std::int64_t bytes)
{
    const std::int64_t limit = limitBytes.load(std::memory_order_relaxed);
    const std::int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit) {
        allocated.fetch_sub(bytes, std::memory_order_relaxed);
        failAllocation(bytes, now - bytes, Bytes{limit},
                       "the memory limit is " + std::to_string(limit) + " bytes");
    }
    raisePeak(now);
    return now;
}

void release(void* data);

class CountingAllocator final : public c10::Allocator {
public:
    explicit CountingAllocator(c10::Allocator* base) : base_(base), deleter_(base->raw_deleter()) {}

    c10::DataPtr allocate(std::size_t bytes) override
    {
        // Zero bytes need no block; a negative size is the caller's mistake, which the base allocator
        // reports.
        if (bytes == 0 || bytes > static_cast<std::size_t>(kNoLimit) - kHeader)
            return base_->allocate(bytes);
        const auto size = static_cast<std::int64_t>(bytes);
        const std::int64_t now = reserve(size);
        auto* block = static_cast<std::byte*>(takeBlock(size));
        *reinterpret_cast<std::int64_t*>(block) = size;
        void* data = block + kHeader;
        noteCpuAllocation(AllocAction::Alloc, data, size, now);
        return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t count) const override
    {
        base_->copy_data(to, from, count);
    }

    void giveBack(void* data)
    {
        auto* block = static_cast<std::byte*>(data) - kHeader;
        const std::int64_t size = *reinterpret_cast<const std::int64_t*>(block);
        const std::int64_t now = allocated.fetch_sub(size, std::memory_order_relaxed) - size;
        // Before the block goes back: after it, another thread may already have the address again.
        noteCpuAllocation(AllocAction::FreeCompleted, data, size, now);
        deleter_(block);
    }

private:
    void* takeBlock(std::int64_t size)
    {
        try {
            return base_->raw_allocate(static_cast<std::size_t>(size) + kHeader);
        } catch (const c10::Error& error) {
            const std::int64_t held = allocated.fetch_sub(size, std::memory_order_relaxed) - size;
            failAllocation(size, held, std::nullopt, error.what_without_backtrace());
        }
    }

    c10::Allocator* base_;
    c10::DeleterFnPtr deleter_;
};

CountingAllocator* installed = nullptr;

void release(void* data)
{
    if (data)
        installed->giveBack(data);
}

} // namespace

void CpuAllocator::install()
{
    static std::once_flag once;
    std::call_once(once, [] {
        c10::Allocator* base = c10::GetCPUAllocator();
        TORCH_CHECK(base->raw_deleter() != nullptr, "the CPU allocator of this LibTorch cannot be wrapped");
        // Never destroyed: tensors in static storage are freed after everything else.
        installed = new CountingAllocator(base);
        c10::SetCPUAllocator(installed, 1);
    });
}

Bytes CpuAllocator::current()
{
    return {allocated.load(std::memory_order_relaxed)};
}

Bytes CpuAllocator::peak()
{
    return {peakAllocated.load(std::memory_order_relaxed)};
}

void CpuAllocator::resetPeak()
{
    peakAllocated.store(allocated.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void CpuAllocator::setLimit(Bytes limit)
{
    limitBytes.store(limit.count, std::memory_order_relaxed);
}

void CpuAllocator::clearLimit()
{
    limitBytes.store(kNoLimit, std::memory_order_relaxed);
}

std::optional<CpuOutOfMemory> CpuAllocator::lastFailure()
{
    const MutexLock lock(failureMutex);
    return failure;
}

} // namespace tilescope::trace
