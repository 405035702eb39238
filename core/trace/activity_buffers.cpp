#include "core/trace/activity_buffers.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace tilescope::trace {

namespace {
// CUPTI wants 8; a page keeps buffers of different threads apart.
constexpr std::size_t kAlignment = 4096;
} // namespace

void ActivityBuffers::Free::operator()(std::uint8_t* data) const
{
    std::free(data);
}

ActivityBuffers::ActivityBuffers(std::size_t count, std::size_t bytes)
    : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment), filled_(count)
{
    free_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto* data = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, bytes_));
        if (!data)
            throw std::bad_alloc();
        std::memset(data, 0, bytes_);
        memory_.emplace_back(data);
        free_.push_back(data);
    }
}

std::uint8_t* ActivityBuffers::request() noexcept
{
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
        refusals_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    std::uint8_t* data = free_.back();
    free_.pop_back();
    ++lent_;
    return data;
}

void ActivityBuffers::complete(const Filled& filled) noexcept
{
    const std::scoped_lock lock(mutex_);
    --lent_;
    filled_[(firstFilled_ + filledCount_++) % filled_.size()] = filled;
}

std::optional<ActivityBuffers::Filled> ActivityBuffers::take()
{
    const std::scoped_lock lock(mutex_);
    if (filledCount_ == 0)
        return std::nullopt;
    const Filled filled = filled_[firstFilled_];
    firstFilled_ = (firstFilled_ + 1) % filled_.size();
    --filledCount_;
    return filled;
}

void ActivityBuffers::giveBack(const Filled& filled)
{
    // CUPTI takes zeroed buffers as they are; zeroing them here spares the launching thread.
    std::memset(filled.data, 0, filled.bytes);
    const std::scoped_lock lock(mutex_);
    free_.push_back(filled.data);
}

std::size_t ActivityBuffers::lent() const
{
    const std::scoped_lock lock(mutex_);
    return lent_;
}

} // namespace tilescope::trace
