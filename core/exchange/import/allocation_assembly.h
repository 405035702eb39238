#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::exchange {

/// A moment at which the use of a process' blocks shows.
struct PhaseMark {
    enum class Kind : std::uint8_t { ForwardBegins, BackwardBegins, OptimizerBegins, OptimizerEnds };
    std::int64_t time = 0;
    ProcessIndex process;
    Kind kind = Kind::ForwardBegins;
};

/// The moments of a trace whose ranges are called `forward`, `backward` and `optimizer`, by time. Before the host rows are
/// written.
std::vector<PhaseMark> phaseMarks(const ForeignTrace& trace);

/// Completes the events of allocators and returns them in time order.
///
/// Where totals of the CPU are unknown (-1), frees get the size of their block; those of unknown blocks are left out. The totals of a device that
/// several processes use are the sums over them, and its addresses differ by process. If `phases` are known, blocks
/// get categories: those that `held` names; inputs, which a step allocated outside of modules before its forward;
/// activations, which forward allocated and which are alive when backward
/// begins; gradients, which backward allocated and which are alive when the optimizer begins, and the buckets in which PyTorch's
/// DistributedDataParallel reduces them; the state of the optimizer, which it allocated and which outlives it; temporaries, what else a step allocated. A named block that
/// no range allocated gets the path of its tensor (setUpComponent()). O(n log n).
/// \param allocations  with devices, paths and steps of the run
std::vector<AllocEvent> completeAllocations(std::vector<ForeignAllocation>&& allocations,
                                            std::span<const ForeignHeld> held,
                                            std::span<const PhaseMark> phases, StringTable& strings);

} // namespace tilescope::exchange
