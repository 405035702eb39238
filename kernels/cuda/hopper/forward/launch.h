#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/hopper/common/tensor_map.h"
#include "kernels/cuda/hopper/forward/arguments.h"

/// Launches the forward kernels: tensor maps and number of CTAs.
namespace tilescope::kernels::hopper {

/// Launches a forward kernel on the current device.
/// \param sharedBytes  size of its shared memory
template <class Tile, auto kKernel>
cudaError_t launchForward(const AttentionProblem& problem, const ForwardTensors& tensors, int sharedBytes,
                          cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const int packed = packedHeads<Tile>(shape);
    const int rowsPerHead = Tile::queries / packed;
    const auto map = [&](const auto& view, Delivery delivery, std::int64_t heads, std::int64_t rows,
                         int boxRows, int boxHeads) {
        return tensorMap(problem.type, const_cast<void*>(static_cast<const void*>(view.data)), shape.headDim,
                         rows, heads, shape.batch, view.rowStride, view.headStride, view.batchStride, boxRows,
                         boxHeads, delivery);
    };
    const Delivery delivery =
        problem.type == ElementType::Float32 ? Delivery::RoundedToTf32 : Delivery::Unchanged;
    const CUtensorMap query = map(tensors.q, delivery, shape.queryHeads, shape.queries, rowsPerHead, packed);
    const CUtensorMap key = map(tensors.k, delivery, shape.keyHeads, shape.keys, Tile::keys, 1);
    const CUtensorMap value = map(tensors.v, delivery, shape.keyHeads, shape.keys, Tile::keys, 1);
    const CUtensorMap output =
        map(tensors.o, Delivery::Unchanged, shape.queryHeads, shape.queries, rowsPerStore<Tile>(packed), 1);

    ForwardArguments arguments = forwardArguments<Tile>(problem, tensors);
    arguments.scheduler = nextTileScheduler();
    if (const cudaError_t error = allowSharedMemory<kKernel>(sharedBytes); error != cudaSuccess)
        return error;
    const int ctas = forwardCtas(arguments, currentDeviceProperties().multiprocessors);
    kKernel<<<ctas, Tile::threads, sharedBytes, stream>>>(query, key, value, output, arguments);
    return cudaGetLastError();
}

} // namespace tilescope::kernels::hopper
