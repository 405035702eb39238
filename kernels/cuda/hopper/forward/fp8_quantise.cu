/// Rounds the inputs of FP8 attention to E4M3, in one pass.
///
/// Bound: memory, 2 bytes read and 1 written for each element. A thread block takes 128 rows of one head of q, k or v and
/// keeps them in registers between the search for the largest element and the conversion.

#include "kernels/cuda/hopper/common/layout.h"
#include "kernels/cuda/hopper/common/ptx.h"
#include "kernels/cuda/hopper/forward/fp8_inputs.h"

#include <cuda_bf16.h>

namespace tilescope::kernels::hopper {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kRows = kFp8KeyTile;
static_assert(kRows == kWarps * kFp8QueryBlock);

struct Parameters {
    ConstView q, k, v;
    Fp8Inputs inputs;
    int queryHeads, keyHeads;
    int queries, keys;
    int queryTiles;        ///< of kRows rows, per head
    int queryThreadBlocks; ///< for all of q; then come those of k, then those of v
    int keyThreadBlocks;
};

/// The largest power of two whose product with `largest` is at most 448 = 1.75 * 2^8; 1 if `largest` is 0 or
/// not finite.
__device__ float factorFor(float largest)
{
    const std::uint32_t bits = __float_as_uint(largest);
    if (largest == 0 || bits >= 0x7f800000U)
        return 1;
    constexpr std::uint32_t kMantissaOf448 = 0x600000;
    const int exponent = static_cast<int>(bits >> 23) - 127;
    const int shift = 8 - exponent - ((bits & 0x7fffff) > kMantissaOf448 ? 1 : 0);
    return __uint_as_float(static_cast<std::uint32_t>(min(max(shift, -126), 126) + 127) << 23);
}

/// Exact for powers of two.
__device__ float reciprocalOf(float factor)
{
    return __uint_as_float((254U << 23) - __float_as_uint(factor));
}

/// A thread block's rows: a warp has 16 consecutive rows, a lane 8 neighbouring columns at a time.
template <int kHeadDim> struct Rows {
    static constexpr int kChunksPerRow = kHeadDim / 8;
    static constexpr int kRowsAtOnce = 32 / kChunksPerRow;
    static constexpr int kChunks = kFp8QueryBlock / kRowsAtOnce; ///< per lane
    uint4 chunk[kChunks];

    __device__ static int row(int i)
    {
        return threadIdx.x / 32 * kFp8QueryBlock + i * kRowsAtOnce + threadIdx.x % 32 / kChunksPerRow;
    }
    __device__ static int column() { return threadIdx.x % 32 % kChunksPerRow * 8; }

    /// Missing rows are zeros.
    __device__ void load(const ConstView& view, int batch, int head, int firstRow, int rows)
    {
        const auto* from = static_cast<const __nv_bfloat16*>(view.data) + batch * view.batchStride +
                           head * view.headStride + column();
#pragma unroll
        for (int i = 0; i < kChunks; ++i) {
            const int at = firstRow + row(i);
            chunk[i] = at < rows ? *reinterpret_cast<const uint4*>(from + at * view.rowStride)
                                 : make_uint4(0, 0, 0, 0);
        }
    }

    /// Over the warp.
    __device__ float largest() const
    {
        float result = 0;
#pragma unroll
        for (int i = 0; i < kChunks; ++i) {
            const std::uint32_t words[] = {chunk[i].x, chunk[i].y, chunk[i].z, chunk[i].w};
#pragma unroll
            for (const std::uint32_t word : words) {
                result = fmaxf(result, fabsf(__uint_as_float(word << 16)));
                result = fmaxf(result, fabsf(__uint_as_float(word & 0xffff0000U)));
            }
        }
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            result = fmaxf(result, __shfl_xor_sync(~0U, result, step));
        return result;
    }

    __device__ uint2 quantised(int i, float factor) const
    {
        const auto low = [](std::uint32_t word) { return __uint_as_float(word << 16); };
        const auto high = [](std::uint32_t word) { return __uint_as_float(word & 0xffff0000U); };
        const uint4 c = chunk[i];
        return make_uint2(
            packFp8(low(c.x) * factor, high(c.x) * factor, low(c.y) * factor, high(c.y) * factor),
            packFp8(low(c.z) * factor, high(c.z) * factor, low(c.w) * factor, high(c.w) * factor));
    }

    __device__ void store(unsigned char* to, int firstRow, int rows, float factor) const
    {
#pragma unroll
        for (int i = 0; i < kChunks; ++i)
            if (const int at = firstRow + row(i); at < rows)
                *reinterpret_cast<uint2*>(to + std::int64_t{at} * kHeadDim + column()) = quantised(i, factor);
    }
};

/// Transposes a tile through shared memory. Rows have 132 bytes, so that a warp reads and writes without many conflicts.
template <int kHeadDim>
__device__ void storeTransposed(const Rows<kHeadDim>& rows, unsigned char* to, std::int64_t rowBytes,
                                float factor)
{
    constexpr int kPitch = kRows + 4;
    __shared__ unsigned char transposed[kHeadDim * kPitch];
#pragma unroll
    for (int i = 0; i < Rows<kHeadDim>::kChunks; ++i) {
        const uint2 bytes = rows.quantised(i, factor);
        const int key = rows.row(i);
        unsigned char* at = transposed + rows.column() * kPitch + key / kFp8Depth * kFp8Depth +
                            fp8ColumnOfKey(key % kFp8Depth);
#pragma unroll
        for (int c = 0; c < 8; ++c)
            at[c * kPitch] = static_cast<unsigned char>((c < 4 ? bytes.x : bytes.y) >> (c % 4 * 8));
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int row = threadIdx.x / 32; row < kHeadDim; row += kWarps)
        *reinterpret_cast<std::uint32_t*>(to + row * rowBytes + lane * 4) =
            *reinterpret_cast<const std::uint32_t*>(transposed + row * kPitch + lane * 4);
}

/// The largest of the thread block's warps.
__device__ float largestOfBlock(float ofWarp)
{
    __shared__ float ofWarps[kWarps];
    if (threadIdx.x % 32 == 0)
        ofWarps[threadIdx.x / 32] = ofWarp;
    __syncthreads();
    float result = 0;
#pragma unroll
    for (const float other : ofWarps)
        result = fmaxf(result, other);
    return result;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) attentionQuantise(const __grid_constant__ Parameters p)
{
    Rows<kHeadDim> rows;
    int block = static_cast<int>(blockIdx.x);
    if (block < p.queryThreadBlocks) {
        const int pair = block / p.queryTiles;
        const int firstRow = block % p.queryTiles * kRows;
        rows.load(p.q, pair / p.queryHeads, pair % p.queryHeads, firstRow, p.queries);
        const float factor = factorFor(rows.largest());
        rows.store(p.inputs.q + std::int64_t{pair} * p.queries * kHeadDim, firstRow, p.queries, factor);
        const int scale = (firstRow + static_cast<int>(threadIdx.x) / 32 * kFp8QueryBlock) / kFp8QueryBlock;
        if (threadIdx.x % 32 == 0 && scale < p.inputs.queryBlocks)
            p.inputs.queryScales[std::int64_t{pair} * p.inputs.queryBlocks + scale] = reciprocalOf(factor);
        return;
    }
    block -= p.queryThreadBlocks;
    const bool isValue = block >= p.keyThreadBlocks;
    block -= isValue ? p.keyThreadBlocks : 0;
    const int pair = block / p.inputs.keyTiles;
    const int tile = block % p.inputs.keyTiles;
    rows.load(isValue ? p.v : p.k, pair / p.keyHeads, pair % p.keyHeads, tile * kRows, p.keys);
    const float factor = factorFor(largestOfBlock(rows.largest()));
    if (isValue) {
        const std::int64_t rowBytes = std::int64_t{p.inputs.keyTiles} * kRows;
        storeTransposed<kHeadDim>(rows, p.inputs.v + pair * kHeadDim * rowBytes + tile * kRows, rowBytes,
                                  factor);
    } else {
        rows.store(p.inputs.k + std::int64_t{pair} * p.keys * kHeadDim, tile * kRows, p.keys, factor);
    }
    if (threadIdx.x == 0) {
        Fp8KeyTileScales& scales = p.inputs.keyScales[std::int64_t{pair} * p.inputs.keyTiles + tile];
        (isValue ? scales.value : scales.key) = reciprocalOf(factor);
    }
}

} // namespace

Fp8Inputs Fp8Inputs::in(const AttentionShape& shape, void* workspace)
{
    constexpr std::size_t kAlignment = 128;
    auto* const base = static_cast<unsigned char*>(workspace);
    std::size_t used = 0;
    const auto take = [&](std::int64_t bytes) {
        unsigned char* const address = base + used;
        used += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
        return address;
    };
    Fp8Inputs inputs{};
    inputs.queryBlocks = static_cast<int>((shape.queries + kFp8QueryBlock - 1) / kFp8QueryBlock);
    inputs.keyTiles = static_cast<int>((shape.keys + kFp8KeyTile - 1) / kFp8KeyTile);
    const std::int64_t queryHeads = shape.batch * shape.queryHeads;
    const std::int64_t keyHeads = shape.batch * shape.keyHeads;
    inputs.q = take(queryHeads * shape.queries * shape.headDim);
    inputs.k = take(keyHeads * shape.keys * shape.headDim);
    inputs.v = take(keyHeads * shape.headDim * inputs.keyTiles * kFp8KeyTile);
    inputs.queryScales = reinterpret_cast<float*>(take(queryHeads * inputs.queryBlocks * 4));
    inputs.keyScales = reinterpret_cast<Fp8KeyTileScales*>(
        take(keyHeads * inputs.keyTiles * static_cast<std::int64_t>(sizeof(Fp8KeyTileScales))));
    inputs.bytes = used;
    return inputs;
}

cudaError_t quantise(const AttentionProblem& problem, const ForwardTensors& tensors, const Fp8Inputs& inputs,
                     cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const auto queryTiles = static_cast<int>((shape.queries + kRows - 1) / kRows);
    const auto queryThreadBlocks = static_cast<int>(shape.batch * shape.queryHeads * queryTiles);
    const auto keyThreadBlocks = static_cast<int>(shape.batch * shape.keyHeads * inputs.keyTiles);
    const Parameters parameters{tensors.q,
                                tensors.k,
                                tensors.v,
                                inputs,
                                static_cast<int>(shape.queryHeads),
                                static_cast<int>(shape.keyHeads),
                                static_cast<int>(shape.queries),
                                static_cast<int>(shape.keys),
                                queryTiles,
                                queryThreadBlocks,
                                keyThreadBlocks};
    const int blocks = queryThreadBlocks + 2 * keyThreadBlocks;
    if (shape.headDim == 64)
        attentionQuantise<64><<<blocks, kThreads, 0, stream>>>(parameters);
    else
        attentionQuantise<128><<<blocks, kThreads, 0, stream>>>(parameters);
    return cudaGetLastError();
}

} // namespace tilescope::kernels::hopper
