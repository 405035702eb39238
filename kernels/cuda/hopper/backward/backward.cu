/// Chooses and launches the backward kernel for bf16 and fp16 (kernel.h).
#include "kernels/cuda/hopper/backward/launch.h"

namespace tilescope::kernels::hopper {

bool backwardSupportsProblem(const AttentionProblem& problem)
{
    const AttentionShape& shape = problem.shape;
    return (problem.type == ElementType::BFloat16 || problem.type == ElementType::Float16) &&
           shape.headDim % 8 == 0 && shape.queries < (1 << 30) && shape.keys < (1 << 30);
}

bool backwardSupports(const AttentionProblem& problem, const BackwardTensors& tensors)
{
    return backwardSupportsProblem(problem) && mappable(tensors.q) && mappable(tensors.k) &&
           mappable(tensors.v) && mappable(tensors.o) && mappable(tensors.gradO) && mappable(tensors.gradQ) &&
           mappable(tensors.gradK) && mappable(tensors.gradV);
}

std::size_t backwardWorkspaceBytes(const AttentionProblem& problem)
{
    return BackwardWorkspace::bytes(problem);
}

cudaError_t backward(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    const int headDim = problem.shape.headDim;
    if (headDim <= 32)
        return launchFor<32>(problem, tensors, stream);
    if (headDim <= 64)
        return launchFor<64>(problem, tensors, stream);
    if (headDim <= 96)
        return launchFor<96>(problem, tensors, stream);
    if (headDim <= 128)
        return launchFor<128>(problem, tensors, stream);
    return launchWide(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
