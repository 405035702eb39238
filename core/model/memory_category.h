#pragma once

#include <cstdint>

namespace tilescope {

/// The purpose of a device's bytes. The last three are not blocks of the program; with the others they add up
/// to the memory that the process uses on the device.
enum class MemoryCategory : std::uint8_t {
    Parameters,
    Gradients,
    Optimizer,
    Activations, ///< saved by an autograd node for its backward
    Inputs,      ///< what steps read: tokens, targets, q, k, v, and constant tables
    Temporaries, ///< made by a step and held by nothing that is known
    Workspace,   ///< of cuBLAS and cuDNN
    Unattributed,
    Fragmentation, ///< rounding, and free memory between blocks of a segment in use
    ReservedFree,  ///< whole segments in which nothing is
    Context        ///< of the process, but outside the allocator: CUDA context, modules, libraries
};

} // namespace tilescope
