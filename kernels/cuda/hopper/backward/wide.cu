/// Attention backward on Hopper for head dims above 128: compiled beside the others.
#include "kernels/cuda/hopper/backward/kernel.h"

namespace tilescope::kernels::hopper {

cudaError_t launchWide(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return launchFor<256>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
