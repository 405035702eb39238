#pragma once

#include "core/base/mutex.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilescope::trace {

/// Small buffers for a CUPTI that must not be refused one. Their records are not decoded.
///
/// CUPTI's threads call the members while it may hold locks; no member calls CUPTI.
class ScratchBuffers {
public:
    static constexpr std::size_t kBytes = std::size_t{64} << 10;

    /// A zeroed buffer of kBytes; null only if the process has no memory left.
    std::uint8_t* lend() noexcept;
    /// Whether the buffer is lent by this object.
    bool owns(const std::uint8_t* buffer) const noexcept;
    void takeBack(std::uint8_t* buffer) noexcept;

private:
    mutable Mutex mutex_;
    std::vector<std::uint8_t*> lent_ GUARDED_BY(mutex_);
};

} // namespace tilescope::trace
