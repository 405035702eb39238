#pragma once

#include "core/base/units.h"
#include "core/model/cpu_instruction_set.h"

#include <optional>
#include <string>

namespace tilescope::machine {

/// Properties of a GPU as the driver reports them, without creating a CUDA context.
struct GpuCapacity {
    std::string name; ///< NVIDIA H200
    std::string uuid; ///< GPU-…
    int computeMajor = 0;
    int computeMinor = 0;
    Bytes memory{}; ///< total, including what the driver reserves for itself
};

/// For CUDA device `index`; none if there is no such GPU or no driver. Any thread.
std::optional<GpuCapacity> gpuCapacity(int index);

/// Host memory available for allocation now; none if the system does not report it. Any thread.
std::optional<Bytes> hostCapacity();

/// The best instruction set that this processor supports, the CPU attention kernels are compiled for, and the
/// operating system saves the registers of. Any thread.
CpuInstructionSet cpuInstructionSet();

} // namespace tilescope::machine
