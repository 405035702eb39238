#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/hopper/backward/backward.h"
#include "kernels/cuda/hopper/backward/kernel.h"
#include "kernels/cuda/hopper/common/tensor_map.h"

#include <algorithm>

/// Launches the backward kernel for bf16 and fp16: tensor maps, number of CTAs, and the passes around it.
namespace tilescope::kernels::hopper {

template <class Tile, class Element>
__global__ void __launch_bounds__(kThreads, 1)
    attentionBackward(const __grid_constant__ BackwardMaps maps,
                      const __grid_constant__ BackwardArguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    runBackward<Tile, Element>(maps, arguments, *reinterpret_cast<BackwardShared<Tile>*>(raw));
}

template <int HeadDim, class Element>
cudaError_t launch(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    using T = BackwardTile<HeadDim>;
    const AttentionShape& shape = problem.shape;
    const BackwardWorkspace workspace = BackwardWorkspace::at(tensors.workspace, problem);
    if (const cudaError_t error = prepareBackward(problem, tensors, workspace, stream); error != cudaSuccess)
        return error;
    const auto map = [&](const auto& view, std::int64_t heads, std::int64_t rows, int boxRows) {
        return tensorMap(problem.type, const_cast<void*>(static_cast<const void*>(view.data)), shape.headDim,
                         rows, heads, shape.batch, view.rowStride, view.headStride, view.batchStride,
                         boxRows);
    };
    const BackwardMaps maps{
        .query = map(tensors.q, shape.queryHeads, shape.queries, T::queries),
        .key = map(tensors.k, shape.keyHeads, shape.keys, T::keys),
        .value = map(tensors.v, shape.keyHeads, shape.keys, T::keys),
        .gradO = map(tensors.gradO, shape.queryHeads, shape.queries, T::queries),
        .gradKey = map(tensors.gradK, shape.keyHeads, shape.keys, kRowsPerConsumer),
        .gradValue = map(tensors.gradV, shape.keyHeads, shape.keys, kRowsPerConsumer),
    };

    BackwardArguments arguments =
        backwardArguments<T>(problem, workspace, std::int64_t{shape.queries <= 512 ? 16 : 32} << 20);
    arguments.scheduler = nextTileScheduler();
    constexpr auto kernel = attentionBackward<T, Element>;
    constexpr int bytes = sizeof(BackwardShared<T>);
    if (const cudaError_t error = allowSharedMemory<kernel>(bytes); error != cudaSuccess)
        return error;
    const int grid = std::min(arguments.order.tiles, currentDeviceProperties().multiprocessors);
    if (const cudaError_t error =
            launchOverlapping(kernel, static_cast<unsigned>(grid), kThreads, bytes, stream, maps, arguments);
        error != cudaSuccess)
        return error;
    return finishBackward(problem, tensors, workspace, stream);
}

/// For head dims above 128 (wide.cu).
cudaError_t launchWide(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream);

template <int HeadDim>
cudaError_t launchFor(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return problem.type == ElementType::BFloat16 ? launch<HeadDim, __nv_bfloat16>(problem, tensors, stream)
                                                 : launch<HeadDim, __half>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
