#include "kernels/cuda/decode/launch.cuh"

namespace tilescope::kernels {

const DecodeLaunchers kDecodeBf16 = decodeLaunchers<Bf16>();

} // namespace tilescope::kernels
