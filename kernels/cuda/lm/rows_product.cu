// Products of a few rows with a weight: those of a decode step.
//
// Bound by memory: each weight is read once, for 2 * rows operations. A block computes kTile columns of y, or twice as many
// where more rows make reading x the larger part. Its warps divide the factors of the sums and read kChunks * 64 bytes of
// each row of the weight at a time: 4 KB in flight per warp, 32 warps on a multiprocessor. Sums are made by mma.sync, whose
// operands come from global memory without a shuffle: the order of the factors in a sum is free, so a lane takes 16
// neighbouring bytes of a row where the instruction would take four pieces. At the end the warps' sums are added in a fixed
// order.
//
// The weights do not depend on the kernel before, so the first of them are read while it still runs (programmatic dependent
// launch), which hides the time between two kernels.
#include "kernels/cuda/common/overlap.h"
#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/lm/elements.cuh"
#include "kernels/include/generation.h"

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kTile = 16;  ///< columns of y, or rows of the weight, of an mma
constexpr int kTokens = 8; ///< rows of x of an mma
constexpr int kWarps = 8;
constexpr int kChunkLanes = 4; ///< lanes that share a row of a weight

/// 16 bytes of a weight as pairs of bf16.
template <bool kIsFp8> struct Chunk;

template <> struct Chunk<false> {
    static constexpr int kValues = 8;
    __device__ static void pairs(std::uint32_t (&to)[4], const uint4& raw)
    {
        to[0] = raw.x, to[1] = raw.y, to[2] = raw.z, to[3] = raw.w;
    }
};

/// Exponent and mantissa of E4M3 are those of a bf16 number 2^120 times as small: subnormal ones too.
template <> struct Chunk<true> {
    static constexpr int kValues = 16;
    __device__ static std::uint32_t pair(std::uint32_t word, unsigned selector)
    {
        const std::uint32_t bytes = __byte_perm(word, 0, selector); // to the upper half of each 16 bits
        const std::uint32_t small = (bytes & 0x80008000U) | ((bytes & 0x7f007f00U) >> 4);
        const __nv_bfloat162 factor = __bfloat162bfloat162(__ushort_as_bfloat16(0x7b80)); // 2^120
        const __nv_bfloat162 value = __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&small), factor);
        return *reinterpret_cast<const std::uint32_t*>(&value);
    }
    __device__ static void pairs(std::uint32_t (&to)[8], const uint4& raw)
    {
        const std::uint32_t words[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            to[2 * i] = pair(words[i], 0x1404);
            to[2 * i + 1] = pair(words[i], 0x3424);
        }
    }
};

/// Blocks of a multiprocessor, which bound registers.
#if __CUDA_ARCH__ == 900
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 2;
#endif

/// \param kTiles   tiles of columns of a block
/// \param kGroups  groups of kTokens rows of x
template <bool kIsFp8, int kTiles, int kGroups>
__global__ void __launch_bounds__(kWarps* kWarp, kTiles* kGroups > 2 ? 2 : kBlocks)
    rowsProductKernel(RowsProduct product)
{
    using Weights = Chunk<kIsFp8>;
    constexpr int kValues = Weights::kValues;
    constexpr int kPairs = kValues / 2;
    constexpr int kChunks = 4 / kTiles;                    // of a row, loaded at a time
    constexpr int kStep = kChunks * kChunkLanes * kValues; // factors of a warp at a time
    constexpr int kBytes = kIsFp8 ? 1 : 2;
    __shared__ float sums[kWarps][kTiles * kTile][kGroups * kTokens];

    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int row = lane / kChunkLanes; // of the weight's tile, and of x
    const auto width = static_cast<int>(product.in);
    const int firstOut = static_cast<int>(blockIdx.x) * kTiles * kTile;
    int factor = warp * kStep + lane % kChunkLanes * kValues; // of this lane's next load

    const auto* weights = static_cast<const std::uint8_t*>(product.weight);
    const std::uint8_t* rows[kTiles][2];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            // Columns that do not exist repeat the last one, and are not written.
            const int out = min(firstOut + tile * kTile + half * 8 + row, static_cast<int>(product.out) - 1);
            rows[tile][half] = weights + std::int64_t{out} * width * kBytes;
        }
    uint4 raw[kChunks][kTiles][2];
    const auto loadWeights = [&] {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            const int at = factor + chunk * kChunkLanes * kValues;
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    raw[chunk][tile][half] =
                        at < width ? ptx::loadOnce16(rows[tile][half] + std::int64_t{at} * kBytes)
                                   : make_uint4(0, 0, 0, 0);
        }
    };
    loadWeights();
    ptx::letNextKernelBegin();
    ptx::waitForKernelBefore();

    float accumulators[kTiles][kGroups][4] = {};
    const auto* x = static_cast<const Bf16*>(product.x);
#pragma unroll 1
    while (factor - lane % kChunkLanes * kValues < width) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            const int at = factor + chunk * kChunkLanes * kValues;
            std::uint32_t right[kGroups][kPairs];
#pragma unroll
            for (int group = 0; group < kGroups; ++group) {
                const int token = group * kTokens + row;
#pragma unroll
                for (int part = 0; part < kPairs / 4; ++part) {
                    uint4 values = make_uint4(0, 0, 0, 0);
                    if (token < static_cast<int>(product.rows) && at < width)
                        values =
                            *reinterpret_cast<const uint4*>(x + std::int64_t{token} * width + at + part * 8);
                    right[group][4 * part] = values.x, right[group][4 * part + 1] = values.y;
                    right[group][4 * part + 2] = values.z, right[group][4 * part + 3] = values.w;
                }
            }
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                std::uint32_t upper[kPairs];
                std::uint32_t lower[kPairs];
                Weights::pairs(upper, raw[chunk][tile][0]);
                Weights::pairs(lower, raw[chunk][tile][1]);
#pragma unroll
                for (int pair = 0; pair < kPairs; pair += 2) {
                    const std::uint32_t left[4] = {upper[pair], lower[pair], upper[pair + 1],
                                                   lower[pair + 1]};
#pragma unroll
                    for (int group = 0; group < kGroups; ++group) {
                        const std::uint32_t factors[2] = {right[group][pair], right[group][pair + 1]};
                        ptx::multiplyBf16(accumulators[tile][group], left, factors);
                    }
                }
            }
        }
        factor += kWarps * kStep;
        loadWeights();
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int group = 0; group < kGroups; ++group)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                sums[warp][tile * kTile + i / 2 * 8 + row][group * kTokens + lane % kChunkLanes * 2 + i % 2] =
                    accumulators[tile][group][i];
    __syncthreads();
    constexpr int kOuts = kTiles * kTile;
    for (int i = static_cast<int>(threadIdx.x); i < kOuts * kGroups * kTokens; i += kWarps * kWarp) {
        const int token = i / kOuts;
        const int out = firstOut + i % kOuts;
        if (token >= static_cast<int>(product.rows) || out >= static_cast<int>(product.out))
            continue;
        float sum = 0;
#pragma unroll
        for (int part = 0; part < kWarps; ++part)
            sum += sums[part][i % kOuts][token];
        if (product.scales)
            sum *= product.scales[out];
        static_cast<Bf16*>(product.y)[token * product.out + out] = __float2bfloat16_rn(sum);
    }
}

template <bool kIsFp8, int kTiles, int kGroups> void launch(const RowsProduct& product, CudaStream stream)
{
    constexpr int kColumns = kTiles * kTile;
    const auto blocks = static_cast<unsigned>((product.out + kColumns - 1) / kColumns);
    launchOverlapping(rowsProductKernel<kIsFp8, kTiles, kGroups>, blocks, kWarps * kWarp, 0, stream, product);
}

// cuBLAS is faster for more than kTokens rows of bf16: the kernel waits for x, and has more of it than of a weight in E4M3.
void launchFp8(const RowsProduct& product, CudaStream stream)
{
    product.rows <= kTokens ? launch<true, 1, 1>(product, stream) : launch<true, 2, 2>(product, stream);
}

static_assert(kMostProductRowsInBf16 == kTokens && kMostProductRows == 2 * kTokens);

} // namespace

void rowsProductCuda(const RowsProduct& product, CudaStream stream)
{
    product.weightIsFp8 ? launchFp8(product, stream) : launch<false, 1, 1>(product, stream);
    requireLaunched("rows_product");
}

} // namespace tilescope::kernels
