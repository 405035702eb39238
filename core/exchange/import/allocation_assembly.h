#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::exchange {

/// The start or end of a phase. It reveals the purpose of a process's blocks.
struct PhaseMark {
    enum class Kind : std::uint8_t { ForwardBegins, BackwardBegins, OptimizerBegins, OptimizerEnds };
    std::int64_t time = 0;
    ProcessIndex process;
    Kind kind = Kind::ForwardBegins;
};

/// The starts and ends of the ranges `forward`, `backward` and `optimizer` of a trace, by time. Call before
/// the host rows are written.
std::vector<PhaseMark> phaseMarks(const ForeignTrace& trace);

/// Completes the events of allocators and returns them in time order.
///
/// If totals of the CPU are unknown (-1), frees get the size of their block; frees of unknown blocks are left out. The
/// totals of a device that several processes use are sums over the processes, and its addresses are made unique by process.
/// If `phases` are known, blocks get categories. Blocks that `held` names get the category stated there. Inputs: allocated
/// by a step outside modules before its forward. Activations: allocated by forward and alive when backward begins.
/// Gradients: allocated by backward and alive when the optimizer begins, and the buckets of PyTorch's
/// DistributedDataParallel. Optimizer state: allocated by the optimizer and alive after it. Temporaries: everything else
/// that a step allocated. A named block that no range allocated gets the path of its tensor (setUpComponent()). O(n log n).
/// \param allocations  with devices, paths and steps of the run
std::vector<AllocEvent> completeAllocations(std::vector<ForeignAllocation>&& allocations,
                                            std::span<const ForeignHeld> held,
                                            std::span<const PhaseMark> phases, StringTable& strings);

} // namespace tilescope::exchange
