#include "kernels/cuda/decode/launch.cuh"

namespace tilescope::kernels {

const DecodeLaunchers kDecodeFp16 = decodeLaunchers<Fp16>();

} // namespace tilescope::kernels
