// Quantisation to E4M3: rows with a scale each, and matrices with one scale and a transposed copy.
//
// Bound by memory. Rows: a block keeps its row in registers between the maximum and the division, so per element of bf16
// it reads 2 bytes and writes 1. Matrices: the scale needs a pass of its own, so per element 2 + 2 bytes are read and
// 1 + 1 written; 2.5e9 weights are 15 GB.
//
// A block of the second pass quantises a tile of kTile x kTile. A thread reads eight neighbours of each of four
// consecutive rows and writes them as they are; through shared memory, whose 32-bit words are four rows of one column,
// it writes 16 rows of a column of the transposed copy at once.
#include "kernels/cuda/lm/elements.cuh"
#include "kernels/include/fp8.h"

#include <cuda_fp8.h>

namespace tilescope::kernels {

namespace {

using namespace lm;

/// Rounds two values; the first is the lower byte. Saturates, which only the rounding of the reciprocal can cause.
__device__ unsigned e4m3Pair(float low, float high)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
}

__device__ uint2 e4m3Vector(const float (&values)[kVector], float reciprocal)
{
    unsigned words[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
        words[i] = e4m3Pair(values[4 * i] * reciprocal, values[4 * i + 1] * reciprocal) |
                   e4m3Pair(values[4 * i + 2] * reciprocal, values[4 * i + 3] * reciprocal) << 16;
    return make_uint2(words[0], words[1]);
}

__device__ float largestOf(const float (&values)[kVector], float largest)
{
#pragma unroll
    for (int i = 0; i < kVector; ++i)
        largest = fmaxf(largest, fabsf(values[i]));
    return largest;
}

constexpr int kRowThreads = 512;
static_assert(kMaxQuantizedRow == 8 * kVector * kRowThreads);

/// A vector as it is in memory: bf16 takes half the registers of fp32.
template <class T> struct Packed {
    static constexpr int kQuads = static_cast<int>(kVector * sizeof(T) / sizeof(uint4));
    uint4 quads[kQuads];

    __device__ void read(const T* from)
    {
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
            quads[i] = reinterpret_cast<const uint4*>(from)[i];
    }
    __device__ void unpack(float (&values)[kVector]) const
    {
        load(values, reinterpret_cast<const T*>(quads));
    }
};

/// The column of a thread's vector.
__device__ std::int64_t columnOf(int vector)
{
    return (std::int64_t{vector} * blockDim.x + threadIdx.x) * kVector;
}

template <class T, int kVectors>
__global__ void __launch_bounds__(kRowThreads) quantizeRowsKernel(QuantizeRows quantize)
{
    __shared__ float scratch[kMaxWarps];
    const std::int64_t begin = std::int64_t{blockIdx.x} * quantize.width;
    Packed<T> packed[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
        if (const std::int64_t column = columnOf(v); column < quantize.width)
            packed[v].read(static_cast<const T*>(quantize.x) + begin + column);
    float largest = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
        if (columnOf(v) < quantize.width) {
            float values[kVector];
            packed[v].unpack(values);
            largest = largestOf(values, largest);
        }
    const E4m3Scale scale = E4m3Scale::of(combineBlock(largest, 0, scratch, Max{}));
    if (threadIdx.x == 0)
        quantize.scales[blockIdx.x] = scale.scale;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const std::int64_t column = columnOf(v);
        if (column >= quantize.width)
            continue;
        float values[kVector];
        packed[v].unpack(values);
        *reinterpret_cast<uint2*>(quantize.values + begin + column) = e4m3Vector(values, scale.reciprocal);
    }
}

template <class T, int kVectors> void launchRows(const QuantizeRows& quantize, CudaStream stream)
{
    const std::int64_t vectors = quantize.width / kVector;
    const std::int64_t threads = (vectors + kVectors - 1) / kVectors;
    quantizeRowsKernel<T, kVectors>
        <<<static_cast<unsigned>(quantize.rows), static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp),
           0, stream>>>(quantize);
}

constexpr int kLargestThreads = 256;
constexpr int kLargestVectors = 4;
constexpr std::int64_t kLargestBlock = std::int64_t{kLargestThreads} * kLargestVectors * kVector;

/// The bits of numbers that are not negative are in the order of the numbers.
template <class T> __global__ void __launch_bounds__(kLargestThreads) largestKernel(QuantizeMatrix quantize)
{
    __shared__ float scratch[kMaxWarps];
    const std::int64_t total = quantize.rows * quantize.width;
    float largest = 0;
#pragma unroll
    for (int v = 0; v < kLargestVectors; ++v) {
        const std::int64_t i =
            blockIdx.x * kLargestBlock + (std::int64_t{v} * kLargestThreads + threadIdx.x) * kVector;
        if (i >= total)
            continue;
        float values[kVector];
        load(values, static_cast<const T*>(quantize.x) + i);
        largest = largestOf(values, largest);
    }
    largest = combineBlock(largest, 0, scratch, Max{});
    if (threadIdx.x == 0)
        atomicMax(reinterpret_cast<int*>(quantize.largest), __float_as_int(largest));
}

constexpr int kTile = 64;
constexpr int kTileThreads = kTile * kTile / (4 * kVector); // 128
constexpr int kTileWords = kTile / 4;                       // of a column

template <class T>
__global__ void __launch_bounds__(kTileThreads) quantizeMatrixKernel(QuantizeMatrix quantize)
{
    // Column by column; one word more so that neighbouring columns lie in different banks.
    __shared__ unsigned columns[kTile][kTileWords + 1];
    const E4m3Scale scale = E4m3Scale::of(*quantize.largest);
    const std::int64_t firstRow = std::int64_t{blockIdx.x} * kTile;
    const std::int64_t firstColumn = std::int64_t{blockIdx.y} * kTile;

    const std::int64_t longer = quantize.rows > quantize.width ? quantize.rows : quantize.width;
    const std::int64_t thread =
        (std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kTileThreads + threadIdx.x;
    const std::int64_t threads = std::int64_t{gridDim.x} * gridDim.y * kTileThreads;
    for (std::int64_t i = thread; i < longer; i += threads)
        quantize.scales[i] = scale.scale;

    const int vector = static_cast<int>(threadIdx.x) % (kTile / kVector);
    const int group = static_cast<int>(threadIdx.x) / (kTile / kVector); // of four rows
    const std::int64_t column = firstColumn + std::int64_t{vector} * kVector;
    uint2 rows[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const std::int64_t row = firstRow + 4 * group + r;
        rows[r] = make_uint2(0, 0);
        if (row >= quantize.rows || column >= quantize.width)
            continue;
        float values[kVector];
        load(values, static_cast<const T*>(quantize.x) + row * quantize.width + column);
        rows[r] = e4m3Vector(values, scale.reciprocal);
        *reinterpret_cast<uint2*>(quantize.values + row * quantize.width + column) = rows[r];
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
        unsigned word = 0;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const unsigned half = i < 4 ? rows[r].x : rows[r].y;
            word |= (half >> 8 * (i % 4) & 0xffU) << 8 * r;
        }
        columns[vector * kVector + i][group] = word;
    }
    __syncthreads();
    // Sixteen rows of a column per thread and round.
    constexpr int kQuads = kTileWords / 4;
#pragma unroll
    for (int round = 0; round < kTile * kQuads / kTileThreads; ++round) {
        const int index = round * kTileThreads + static_cast<int>(threadIdx.x);
        const int local = index / kQuads;
        const int quad = index % kQuads;
        const std::int64_t row = firstRow + 16 * quad;
        if (firstColumn + local >= quantize.width || row >= quantize.rows)
            continue;
        const unsigned* words = &columns[local][4 * quad];
        *reinterpret_cast<uint4*>(quantize.transposed + (firstColumn + local) * quantize.rows + row) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
}

} // namespace

void quantizeRowsCuda(ElementType type, const QuantizeRows& quantize, CudaStream stream)
{
    // Blocks of at most so many threads, several of which fit on a multiprocessor, except for the widest rows.
    constexpr std::int64_t kWanted = 320;
    const std::int64_t vectors = quantize.width / kVector;
    dispatch(type, [&]<class T>(T) {
        if (vectors <= kWanted)
            launchRows<T, 1>(quantize, stream);
        else if (vectors <= 2 * kWanted)
            launchRows<T, 2>(quantize, stream);
        else if (vectors <= 4 * kWanted)
            launchRows<T, 4>(quantize, stream);
        else
            launchRows<T, 8>(quantize, stream);
    });
    requireLaunched("quantize_rows");
}

void quantizeMatrixCuda(ElementType type, const QuantizeMatrix& quantize, CudaStream stream)
{
    const std::int64_t total = quantize.rows * quantize.width;
    const dim3 tiles(static_cast<unsigned>((quantize.rows + kTile - 1) / kTile),
                     static_cast<unsigned>((quantize.width + kTile - 1) / kTile));
    dispatch(type, [&]<class T>(T) {
        largestKernel<T><<<static_cast<unsigned>((total + kLargestBlock - 1) / kLargestBlock),
                           kLargestThreads, 0, stream>>>(quantize);
        quantizeMatrixKernel<T><<<tiles, kTileThreads, 0, stream>>>(quantize);
    });
    requireLaunched("quantize_matrix_");
}

} // namespace tilescope::kernels
