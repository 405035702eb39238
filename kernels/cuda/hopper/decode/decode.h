#pragma once

#include "kernels/cuda/decode/parameters.h"

namespace tilescope::kernels::hopper {

/// The decode kernels with keys and values by TMA, for bf16 and fp16: not in pages, and with strides that a tensor map can
/// describe (PreferredDecode).
cudaError_t decodeByBoxes(const DecodeParameters& parameters, ElementType type, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
