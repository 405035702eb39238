#pragma once

#include "core/base/units.h"

#include <optional>

namespace tilescope::trace {

/// Why an allocation on the CPU failed last.
struct CpuOutOfMemory {
    Bytes requested;
    Bytes allocated;                 ///< at the time of the request
    std::optional<Bytes> limit = {}; ///< none: the system refused
};

/// Wraps LibTorch's CPU allocator with a count, a limit and allocation events.
///
/// Call install() before the first tensor of the process, because earlier blocks are not counted. All other
/// members may be called by any thread at any time. When idle, costs two atomic additions per block. While a
/// tracer records memory, each block also produces an AllocEvent.
class CpuAllocator {
public:
    /// Idempotent; cannot be undone.
    static void install();

    static Bytes current(); ///< bytes of tensors alive now, as requested
    static Bytes peak();    ///< the most since resetPeak()
    static void resetPeak();

    /// Lets an allocation that would lift current() above `limit` throw c10::OutOfMemoryError.
    /// A request that the system refuses throws the same error, with or without a limit.
    static void setLimit(Bytes limit);
    static void clearLimit();

    /// The last such failure in this process; none if there was none.
    static std::optional<CpuOutOfMemory> lastFailure();
};

} // namespace tilescope::trace
