#pragma once

#include "core/base/units.h"

#include <optional>

namespace tilescope::trace {

/// Why an allocation on the CPU failed last.
struct CpuOutOfMemory {
    Bytes requested;
    Bytes allocated;                 ///< held when it was asked for
    std::optional<Bytes> limit = {}; ///< none: the system refused
};

/// LibTorch's CPU allocator with a count, a limit and allocation events.
///
/// Wraps whatever allocator LibTorch has. install() comes before the first tensor of the process, as blocks
/// from before it are not counted; everything else may be called by any thread at any time. Idle, it costs
/// two atomic additions a block. While a tracer records memory, each block also gives an AllocEvent.
class CpuAllocator {
public:
    /// Idempotent; there is no way back.
    static void install();

    static Bytes current(); ///< bytes of tensors alive now, as requested
    static Bytes peak();    ///< the most since resetPeak()
    static void resetPeak();

    /// Lets an allocation that would lift current() above `limit` throw c10::OutOfMemoryError.
    /// One that the system refuses throws the same, with or without a limit.
    static void setLimit(Bytes limit);
    static void clearLimit();

    /// What the last such failure in this process was about; none if there was none.
    static std::optional<CpuOutOfMemory> lastFailure();
};

} // namespace tilescope::trace
