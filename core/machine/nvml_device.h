#pragma once

#include "core/machine/nvml.h"

namespace tilescope::machine {

/// NVML's device of a CUDA index: the driver counts all GPUs, CUDA only those that CUDA_VISIBLE_DEVICES
/// leaves, in its order. nullptr where there is none.
Nvml::Device deviceOf(const Nvml& nvml, int cudaIndex);

} // namespace tilescope::machine
