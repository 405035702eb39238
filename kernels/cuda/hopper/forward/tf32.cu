/// Chooses and launches the TF32 forward kernel (tf32_kernel.h).
#include "kernels/cuda/hopper/common/tf32.h"
#include "kernels/cuda/hopper/forward/forward.h"
#include "kernels/cuda/hopper/forward/launch.h"
#include "kernels/cuda/hopper/forward/tf32_kernel.h"

namespace tilescope::kernels::hopper {
namespace {

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 1)
    attentionForwardTf32(const __grid_constant__ CUtensorMap queryMap,
                         const __grid_constant__ CUtensorMap keyMap,
                         const __grid_constant__ CUtensorMap valueMap,
                         const __grid_constant__ CUtensorMap outputMap,
                         const __grid_constant__ ForwardArguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    runTf32(queryMap, keyMap, valueMap, outputMap, arguments, *reinterpret_cast<Tf32Memory<Tile>*>(raw));
}

template <int HeadDim, int Keys>
cudaError_t launchFor(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    using Tile = Tf32Tile<HeadDim, Keys>;
    static_assert(sizeof(Tf32Memory<Tile>) <= 227 * 1024);
    return launchForward<Tile, attentionForwardTf32<Tile>>(problem, tensors, sizeof(Tf32Memory<Tile>),
                                                           stream);
}

} // namespace

bool forwardTf32Supports(const AttentionProblem& problem, const ForwardTensors& tensors)
{
    return supportsTf32(problem) && mappable(tensors.q, 4) && mappable(tensors.k, 4) &&
           mappable(tensors.v, 4) && mappable(tensors.o, 4);
}

cudaError_t forwardTf32(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    if (shape.headDim <= 32)
        return launchFor<32, 128>(problem, tensors, stream);
    if (shape.headDim <= 64)
        return launchFor<64, 128>(problem, tensors, stream);
    if (shape.headDim <= 96)
        return launchFor<96, 64>(problem, tensors, stream);
    return launchFor<128, 64>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
