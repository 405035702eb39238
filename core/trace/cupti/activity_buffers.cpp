#include "core/trace/cupti/activity_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tilescope::trace {

namespace {

// CUPTI requires 8; a page separates buffers of different threads and allows each to be returned separately.
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kWarm = 16;

/// The number of buffers, up to `count`, for which the process can reserve memory.
std::uint8_t* reserve(std::size_t& count, std::size_t bytes)
{
    for (;;) {
        void* memory = mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED)
            return static_cast<std::uint8_t*>(memory);
        if (count <= kWarm)
            throw std::bad_alloc();
        count = std::max(count / 2, kWarm);
    }
}

} // namespace

void ActivityBuffers::Unmap::operator()(std::uint8_t* memory) const
{
    munmap(memory, bytes);
}

ActivityBuffers::ActivityBuffers(std::size_t count, std::size_t bytes)
    : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment), count_(count), memory_(nullptr, Unmap{0})
{
    std::uint8_t* memory = reserve(count_, bytes_);
    memory_ = std::unique_ptr<std::uint8_t, Unmap>(memory, Unmap{count_ * bytes_});
    const std::size_t warm = std::min(count_, kWarm);
    std::memset(memory, 0, warm * bytes_);
    warm_.reserve(warm);
    cold_.reserve(count_ - warm);
    filled_.resize(count_);
    for (std::size_t i = count_; i-- > 0;)
        (i < warm ? warm_ : cold_).push_back(memory + i * bytes_);
}

std::uint8_t* ActivityBuffers::request() noexcept
{
    const MutexLock lock(mutex_);
    std::vector<std::uint8_t*>& from = warm_.empty() ? cold_ : warm_;
    if (from.empty()) {
        refusals_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    std::uint8_t* data = from.back();
    from.pop_back();
    ++lent_;
    return data;
}

void ActivityBuffers::complete(const Filled& filled) noexcept
{
    const MutexLock lock(mutex_);
    --lent_;
    filled_[(firstFilled_ + filledCount_++) % filled_.size()] = filled;
}

std::optional<ActivityBuffers::Filled> ActivityBuffers::take()
{
    const MutexLock lock(mutex_);
    if (filledCount_ == 0)
        return std::nullopt;
    const Filled filled = filled_[firstFilled_];
    firstFilled_ = (firstFilled_ + 1) % filled_.size();
    --filledCount_;
    return filled;
}

void ActivityBuffers::giveBack(const Filled& filled)
{
    // CUPTI uses zeroed buffers as they are; zeroing them here relieves the launching thread. Memory that
    // only a burst needed returns to the system, which also provides zeroed pages.
    const bool warm = indexOf(filled.data) < kWarm;
    if (warm)
        std::memset(filled.data, 0, filled.bytes);
    else if (madvise(filled.data, bytes_, MADV_DONTNEED) != 0)
        std::memset(filled.data, 0, bytes_);
    const MutexLock lock(mutex_);
    (warm ? warm_ : cold_).push_back(filled.data);
}

bool ActivityBuffers::pressed() const
{
    const MutexLock lock(mutex_);
    return filledCount_ >= std::max<std::size_t>(1, std::min(count_, kWarm) / 2);
}

std::size_t ActivityBuffers::lent() const
{
    const MutexLock lock(mutex_);
    return lent_;
}

} // namespace tilescope::trace
