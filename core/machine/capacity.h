#pragma once

#include "core/base/units.h"
#include "core/model/cpu_instruction_set.h"

#include <optional>
#include <string>

namespace tilescope::machine {

/// What a GPU has, by the driver's word and without a CUDA context.
struct GpuCapacity {
    std::string name; ///< NVIDIA H200
    std::string uuid; ///< GPU-…
    int computeMajor = 0;
    int computeMinor = 0;
    Bytes memory{}; ///< all of it, what the driver keeps for itself too
};

/// Of the GPU that CUDA calls `index`; none where there is none or no driver. Any thread.
std::optional<GpuCapacity> gpuCapacity(int index);

/// The host's name, as the environment of runs tells it.
std::string hostName();

/// Memory that the host could give out now; none where the system does not tell. Any thread.
std::optional<Bytes> hostCapacity();

/// The most capable instruction set of this processor that the CPU attention kernels are compiled for, if the
/// operating system saves its registers. Any thread.
CpuInstructionSet cpuInstructionSet();

} // namespace tilescope::machine
