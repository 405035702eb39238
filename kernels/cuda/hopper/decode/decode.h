#pragma once

#include "kernels/cuda/decode/parameters.h"

namespace tilescope::kernels::hopper {

/// Whether TMA can load these keys and values: not in pages, and described by tensor maps.
bool canDecodeByBoxes(const DecodeParameters& parameters);

/// The decode kernels with keys and values by TMA, for bf16 and fp16. Results have the bits of those with asynchronous copies.
cudaError_t decodeByBoxes(const DecodeParameters& parameters, ElementType type, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
