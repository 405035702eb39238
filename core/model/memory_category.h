#pragma once

#include <cstdint>

namespace tilescope {

/// What bytes of a device are for; CONTRACT.md, "Memory categories". The last three are no block of the
/// program's: together with the others they make up what the device lost to the process.
enum class MemoryCategory : std::uint8_t {
    Parameters,
    Gradients,
    Optimizer,
    Activations, ///< saved by an autograd node for its backward
    Inputs,      ///< what steps read: tokens, targets, q, k, v, and constant tables
    Temporaries, ///< made by a step and held by nothing that is known
    Workspace,   ///< of cuBLAS and cuDNN
    Unattributed,
    Fragmentation, ///< given out but not asked for, and free between blocks of a segment that is in use
    ReservedFree,  ///< whole segments in which nothing is
    Context        ///< of the process, but outside the allocator: CUDA context, modules, libraries
};

} // namespace tilescope
