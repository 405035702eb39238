#pragma once

#include "core/base/ids.h"

#include <cstdint>

namespace tilescope::trace {

/// LibTorch's CUDA caching allocator, told to note what it does in DeviceAllocLog.
class CudaAllocatorHook {
public:
    struct Totals {
        std::int64_t requested = 0; ///< bytes that tensors asked for and hold
        std::int64_t reserved = 0;  ///< bytes the allocator has from the driver
    };

    /// Attaches the hook at the first call that finds CUDA initialised; there is no way back. Session thread.
    /// \return  whether it is attached
    static bool attach();
    static Totals totals(DeviceIndex device);
};

} // namespace tilescope::trace
