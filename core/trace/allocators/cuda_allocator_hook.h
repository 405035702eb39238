#pragma once

#include "core/base/ids.h"

#include <cstdint>

namespace tilescope::trace {

/// A hook in LibTorch's CUDA caching allocator that records its events in DeviceAllocLog.
class CudaAllocatorHook {
public:
    struct Totals {
        std::int64_t requested = 0; ///< bytes requested by live tensors
        std::int64_t reserved = 0;  ///< bytes the allocator has from the driver
    };

    /// Attaches the hook at the first call after CUDA is initialised; cannot be undone. Session thread.
    /// \return  whether it is attached
    static bool attach();
    static Totals totals(DeviceIndex device);
};

} // namespace tilescope::trace
