/// Chooses and launches the TF32 backward kernel (tf32_kernel.h).
#include "kernels/cuda/common/device.h"
#include "kernels/cuda/hopper/backward/backward.h"
#include "kernels/cuda/hopper/backward/tf32_kernel.h"
#include "kernels/cuda/hopper/common/tensor_map.h"
#include "kernels/cuda/hopper/common/tf32.h"

#include <algorithm>

namespace tilescope::kernels::hopper {
namespace {

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 1)
    attentionBackwardTf32(const __grid_constant__ Tf32BackwardMaps maps,
                          const __grid_constant__ Tf32BackwardArguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    runBackwardTf32(maps, arguments, *reinterpret_cast<Tf32BackwardMemory<Tile>*>(raw));
}

template <int HeadDim>
cudaError_t launchFor(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    using Tile = Tf32BackwardTile<HeadDim>;
    constexpr auto kernel = attentionBackwardTf32<Tile>;
    constexpr int bytes = sizeof(Tf32BackwardMemory<Tile>);
    static_assert(bytes <= 227 * 1024);
    const AttentionShape& shape = problem.shape;
    const BackwardWorkspace workspace = BackwardWorkspace::at(tensors.workspace, problem);
    if (const cudaError_t error = prepareBackward(problem, tensors, workspace, stream); error != cudaSuccess)
        return error;
    const auto map = [&](const ConstView& view, std::int64_t heads, std::int64_t rows, int boxRows) {
        return tensorMap(problem.type, const_cast<void*>(view.data), shape.headDim, rows, heads, shape.batch,
                         view.rowStride, view.headStride, view.batchStride, boxRows, 1,
                         Delivery::RoundedToTf32);
    };
    const Tf32BackwardMaps maps{.query = map(tensors.q, shape.queryHeads, shape.queries, Tile::queries),
                                .key = map(tensors.k, shape.keyHeads, shape.keys, Tile::keys),
                                .value = map(tensors.v, shape.keyHeads, shape.keys, Tile::keys),
                                .gradO = map(tensors.gradO, shape.queryHeads, shape.queries, Tile::queries)};
    Tf32BackwardArguments arguments = tf32BackwardArguments<Tile>(problem, tensors, workspace);
    arguments.scheduler = nextTileScheduler();
    if (const cudaError_t error = allowSharedMemory<kernel>(bytes); error != cudaSuccess)
        return error;
    const int grid = std::min(arguments.order.tiles, currentDeviceProperties().multiprocessors);
    if (const cudaError_t error = launchOverlapping(kernel, static_cast<unsigned>(grid), Tile::threads, bytes,
                                                    stream, maps, arguments);
        error != cudaSuccess)
        return error;
    return finishBackward(problem, tensors, workspace, stream);
}

} // namespace

bool backwardTf32Supports(const AttentionProblem& problem, const BackwardTensors& tensors)
{
    return supportsTf32(problem) && mappable(tensors.q, 4) && mappable(tensors.k, 4) &&
           mappable(tensors.v, 4) && mappable(tensors.o, 4) && mappable(tensors.gradO, 4) &&
           mappable(tensors.gradQ, 4) && mappable(tensors.gradK, 4) && mappable(tensors.gradV, 4);
}

cudaError_t backwardTf32(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    const int headDim = problem.shape.headDim;
    if (headDim <= 32)
        return launchFor<32>(problem, tensors, stream);
    if (headDim <= 64)
        return launchFor<64>(problem, tensors, stream);
    if (headDim <= 96)
        return launchFor<96>(problem, tensors, stream);
    return launchFor<128>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
