/// The backward kernel for head dims above 128, in a file of its own to compile in parallel.
#include "kernels/cuda/hopper/backward/launch.h"

namespace tilescope::kernels::hopper {

cudaError_t launchWide(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return launchFor<256>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
