/// Launches the FP8 forward kernel: the bf16 kernel (kernel.h) with other operands.
///
/// Arithmetic: 8,192 operations per clock and SM, so the products of a tile of 128 queries x 128 keys at d =
/// 128 take 1024 clocks, as long as its exponentials. Both must overlap, as at d = 64 in bf16.
///
/// Operands of FP8 wgmma must be K-major, and P's registers hold other columns than the accumulators of its scores. So the
/// quantising kernel (fp8_quantise.cu) writes V transposed, with its keys in the order of the accumulators (layout.h), and
/// P stays in its thread (arXiv:2407.08608, section 3.3, transposes in the kernel).
#include "kernels/cuda/hopper/forward/forward.h"

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/hopper/common/tensor_map.h"
#include "kernels/cuda/hopper/forward/arguments.h"
#include "kernels/cuda/hopper/forward/fp8_inputs.h"
#include "kernels/cuda/hopper/forward/fp8_rows.h"
#include "kernels/cuda/hopper/forward/kernel.h"

namespace tilescope::kernels::hopper {
namespace {

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 1)
    attentionForwardFp8(const __grid_constant__ CUtensorMap queryMap,
                        const __grid_constant__ CUtensorMap keyMap,
                        const __grid_constant__ CUtensorMap valueMap,
                        const __grid_constant__ CUtensorMap outputMap,
                        const __grid_constant__ Fp8Arguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    runForward<Tile, __nv_fp8_e4m3, Fp8Rows<Tile>>(queryMap, keyMap, valueMap, outputMap, arguments,
                                                   *reinterpret_cast<ForwardMemory<Tile>*>(raw));
}

template <class Tile>
cudaError_t launch(const AttentionProblem& problem, const ForwardTensors& tensors, const Fp8Inputs& inputs,
                   cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const std::int64_t d = shape.headDim;
    const std::int64_t columns = std::int64_t{inputs.keyTiles} * kFp8KeyTile;
    const int packed = packedHeads<Tile>(shape);
    const CUtensorMap query =
        byteTensorMap(inputs.q, d, shape.queries, shape.queryHeads, shape.batch, d, shape.queries * d,
                      shape.queryHeads * shape.queries * d, Tile::queries / packed, packed);
    const CUtensorMap key = byteTensorMap(inputs.k, d, shape.keys, shape.keyHeads, shape.batch, d,
                                          shape.keys * d, shape.keyHeads * shape.keys * d, Tile::keys);
    const CUtensorMap value = byteTensorMap(inputs.v, columns, d, shape.keyHeads, shape.batch, columns,
                                            columns * d, shape.keyHeads * columns * d, static_cast<int>(d));
    const CUtensorMap output = tensorMap(problem.type, tensors.o.data, d, shape.queries, shape.queryHeads,
                                         shape.batch, tensors.o.rowStride, tensors.o.headStride,
                                         tensors.o.batchStride, rowsPerStore<Tile>(packed));

    ForwardTensors quantised = tensors;
    quantised.k = {inputs.k, shape.keyHeads * shape.keys * d, shape.keys * d, d};
    Fp8Arguments arguments{forwardArguments<Tile>(problem, quantised), inputs.queryScales, inputs.keyScales,
                           static_cast<int>(shape.keyHeads),           inputs.queryBlocks, inputs.keyTiles};
    arguments.scheduler = nextTileScheduler();
    constexpr int kBytes = sizeof(ForwardMemory<Tile>);
    static_assert(kBytes <= 227 * 1024);
    if (const cudaError_t error = allowSharedMemory<attentionForwardFp8<Tile>>(kBytes); error != cudaSuccess)
        return error;
    const int ctas = forwardCtas(arguments, currentDeviceProperties().multiprocessors);
    attentionForwardFp8<Tile><<<ctas, Tile::threads, kBytes, stream>>>(query, key, value, output, arguments);
    return cudaGetLastError();
}

} // namespace

bool forwardFp8Supports(const AttentionProblem& problem, const ForwardTensors& tensors)
{
    const AttentionShape& shape = problem.shape;
    return problem.type == ElementType::BFloat16 && (shape.headDim == 64 || shape.headDim == 128) &&
           mappable(tensors.q) && mappable(tensors.k) && mappable(tensors.v) && mappable(tensors.o) &&
           shape.queries < (1 << 30) && shape.keys < (1 << 30);
}

std::size_t forwardFp8WorkspaceBytes(const AttentionProblem& problem)
{
    return Fp8Inputs::in(problem.shape, nullptr).bytes;
}

cudaError_t forwardFp8(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    const Fp8Inputs inputs = Fp8Inputs::in(problem.shape, tensors.workspace);
    if (const cudaError_t error = quantise(problem, tensors, inputs, stream); error != cudaSuccess)
        return error;
    return problem.shape.headDim == 64 ? launch<Fp8Tile<64, 3>>(problem, tensors, inputs, stream)
                                       : launch<Fp8Tile<128, 2>>(problem, tensors, inputs, stream);
}

} // namespace tilescope::kernels::hopper
