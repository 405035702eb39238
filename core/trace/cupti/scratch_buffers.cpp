#include "core/trace/cupti/scratch_buffers.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tilescope::trace {

std::uint8_t* ScratchBuffers::lend() noexcept
{
    auto* buffer = static_cast<std::uint8_t*>(std::calloc(1, kBytes));
    if (!buffer)
        return nullptr;
    try {
        const MutexLock lock(mutex_);
        lent_.push_back(buffer);
        return buffer;
    } catch (const std::bad_alloc&) {
        std::free(buffer);
        return nullptr;
    }
}

bool ScratchBuffers::owns(const std::uint8_t* buffer) const noexcept
{
    const MutexLock lock(mutex_);
    return std::ranges::find(lent_, buffer) != lent_.end();
}

void ScratchBuffers::takeBack(std::uint8_t* buffer) noexcept
{
    {
        const MutexLock lock(mutex_);
        std::erase(lent_, buffer);
    }
    std::free(buffer);
}

} // namespace tilescope::trace
