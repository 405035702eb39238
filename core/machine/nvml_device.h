#pragma once

#include "core/machine/nvml.h"

namespace tilescope::machine {

/// The NVML device of a CUDA index. The driver counts all GPUs; CUDA counts those in CUDA_VISIBLE_DEVICES, in
/// its order. nullptr if there is none.
Nvml::Device deviceOf(const Nvml& nvml, int cudaIndex);

} // namespace tilescope::machine
