// The gradient of a weight and its AdamW update in one kernel: gradient^T x, a product of bf16 factors with fp32
// sums, whose result goes through shared memory to the update and never to global memory.
//
// Bound by memory while there are few tokens: per weight 12 bytes are read (bf16 weight, remainder and two moments) and
// written. A tile of 128 x 128 weights moves 393 KB, 11.7 us of a multiprocessor's share of an H200's 4.45 TB/s. Its
// product over 512 tokens takes 2.4 us of the tensor cores and 262 KB of L2.
//
// A persistent block has a producer (TMA), a warpgroup that multiplies and two that update. The product of the next
// tile runs during the update of this one. The updating warps load the next rows before the gradients of those arrive.
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/tensor_map.h"
#include "kernels/cuda/hopper/common/wgmma.h"
#include "kernels/cuda/lm/adamw_step.cuh"
#include "kernels/cuda/lm/elements.cuh"

#include <algorithm>

namespace tilescope::kernels {

namespace {

using namespace hopper;
using lm::AdamwCorrection;
using lm::AdamwStep;

constexpr int kTile = 128;          ///< rows (out) and columns (in) of a tile
constexpr int kTileTokens = 64;     ///< of a stage
constexpr int kDepth = 16;          ///< tokens of one instruction
constexpr int kStages = 4;          ///< of factors
constexpr int kHalf = 64;           ///< rows of gradients that are handed over at a time
constexpr int kBuffers = 2;         ///< of gradients
constexpr int kGradientPitch = 136; ///< floats of a row: no bank conflicts of fragments
constexpr int kPanelBytes = kTileTokens * kRowBytes;
constexpr int kPanels = kTile / kPanelColumns;
constexpr int kFactorBytes = kPanels * kPanelBytes;
constexpr int kUpdateWarps = 8;
constexpr int kThreads = (2 + kUpdateWarps / 4) * kWarpgroup;
constexpr int kBatch = 4;                       ///< rows that a warp loads at a time
constexpr int kWarpRows = kHalf / kUpdateWarps; ///< of each half: two batches
static_assert(kWarpRows == 2 * kBatch);

struct Shared {
    alignas(1024) unsigned char gradient[kStages][kFactorBytes];
    alignas(1024) unsigned char x[kStages][kFactorBytes];
    alignas(16) float sums[kBuffers][kHalf * kGradientPitch];
    AdamwCorrection correction;
    Barrier full[kStages], empty[kStages];
    Barrier sumsFull[kBuffers], sumsEmpty[kBuffers];
};

struct Arguments {
    AdamwStep step;
    unsigned short* weight;
    short* remainder;
    float* first;
    float* second;
    int rows, columns; ///< of the weight
    int columnTiles, tiles;
    int depth; ///< stages of a tile
};

struct Maps {
    CUtensorMap gradient, x;
};

/// The tiles of this block.
struct Tiles {
    const Arguments* arguments;
    int tile = static_cast<int>(blockIdx.x);
    __device__ bool more() const { return tile < arguments->tiles; }
    __device__ void advance() { tile += static_cast<int>(gridDim.x); }
    __device__ int row() const { return tile / arguments->columnTiles * kTile; }
    __device__ int column() const { return tile % arguments->columnTiles * kTile; }
};

__device__ void produce(const Maps& maps, const Arguments& arguments, Shared& shared)
{
    RingPosition<kStages> ring;
    for (Tiles tiles{&arguments}; tiles.more(); tiles.advance()) {
        for (int step = 0; step < arguments.depth; ++step, ring.advance()) {
            Barrier& full = shared.full[ring.stage];
            wait(shared.empty[ring.stage], ring.parity ^ 1);
            arriveExpecting(full, 2 * kFactorBytes);
#pragma unroll
            for (int panel = 0; panel < kPanels; ++panel) {
                loadBox(maps.gradient, shared.gradient[ring.stage] + panel * kPanelBytes, full,
                        tiles.row() + panel * kPanelColumns, step * kTileTokens, 0, 0);
                loadBox(maps.x, shared.x[ring.stage] + panel * kPanelBytes, full,
                        tiles.column() + panel * kPanelColumns, step * kTileTokens, 0, 0);
            }
        }
    }
}

/// Hands 64 rows of gradients over to the update.
__device__ void handOver(const float (&sums)[64], RingPosition<kBuffers>& ring, Shared& shared)
{
    wait(shared.sumsEmpty[ring.stage], ring.parity ^ 1);
    float* to = shared.sums[ring.stage] + rowInConsumer() * kGradientPitch + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i += 4) {
        *reinterpret_cast<float2*>(to + i * 2) = make_float2(sums[i], sums[i + 1]);
        *reinterpret_cast<float2*>(to + 8 * kGradientPitch + i * 2) = make_float2(sums[i + 2], sums[i + 3]);
    }
    release(shared.sumsFull[ring.stage]);
    ring.advance();
}

__device__ void multiply(const Arguments& arguments, Shared& shared)
{
    RingPosition<kStages> ring;
    RingPosition<kBuffers> handed;
    for (Tiles tiles{&arguments}; tiles.more(); tiles.advance()) {
        float upper[64];
        float lower[64];
        int previous = 0;
        for (int step = 0; step < arguments.depth; ++step, ring.advance()) {
            wait(shared.full[ring.stage], ring.parity);
            const std::uint64_t gradient = matrixDescriptor(sharedAddress(shared.gradient[ring.stage]));
            const std::uint64_t x = matrixDescriptor(sharedAddress(shared.x[ring.stage]), kPanelBytes);
            fenceProducts();
#pragma unroll
            for (int k = 0; k < kTileTokens / kDepth; ++k) {
                const std::uint64_t right = advance(x, k * kDepth * kRowBytes);
                const std::uint64_t left = advance(gradient, k * kDepth * kRowBytes);
                productOfTransposed<__nv_bfloat16>(upper, left, right, step + k > 0);
                productOfTransposed<__nv_bfloat16>(lower, advance(left, kPanelBytes), right, step + k > 0);
            }
            commitProducts();
            if (step > 0) {
                waitProducts<1>();
                release(shared.empty[previous]);
            }
            previous = ring.stage;
        }
        waitProducts<0>();
        release(shared.empty[previous]);
        pin(upper);
        pin(lower);
        handOver(upper, handed, shared);
        handOver(lower, handed, shared);
    }
}

/// Four neighbouring weights of each of a warp's rows.
struct Batch {
    uint2 weight[kBatch];
    uint2 remainder[kBatch];
    float4 first[kBatch];
    float4 second[kBatch];
};

/// The update's position: a half of a tile.
struct Half {
    Tiles tiles;
    int half = 0;
    __device__ bool more() const { return tiles.more(); }
    __device__ void advance()
    {
        half ^= 1;
        if (half == 0)
            tiles.advance();
    }
};

struct Updater {
    const Arguments& arguments;
    const AdamwCorrection& correction;
    int warp, lane;

    /// The first of this warp's rows in a half.
    __device__ int firstRow(const Half& at) const
    {
        return at.tiles.row() + at.half * kHalf + warp * kWarpRows;
    }
    __device__ int column(const Half& at) const { return at.tiles.column() + lane * 4; }

    __device__ void load(Batch& batch, const Half& at, int begin) const
    {
        const int row = firstRow(at) + begin;
        if (!at.more() || column(at) >= arguments.columns)
            return;
        const std::int64_t base = std::int64_t{row} * arguments.columns + column(at);
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
            if (row + i >= arguments.rows)
                continue;
            const std::int64_t offset = base + std::int64_t{i} * arguments.columns;
            batch.first[i] = __ldcs(reinterpret_cast<const float4*>(arguments.first + offset));
            batch.second[i] = __ldcs(reinterpret_cast<const float4*>(arguments.second + offset));
            batch.weight[i] = __ldcs(reinterpret_cast<const uint2*>(arguments.weight + offset));
            batch.remainder[i] = __ldcs(reinterpret_cast<const uint2*>(arguments.remainder + offset));
        }
    }

    __device__ float one(unsigned weight, unsigned remainder, float gradient, float& first,
                         float& second) const
    {
        return updated(arguments.step, correction,
                       lm::joined(static_cast<unsigned short>(weight), static_cast<short>(remainder)),
                       gradient, first, second);
    }

    /// \param sums  the gradients of this warp's rows of the batch
    __device__ void update(Batch& batch, const Half& at, int begin, const float* sums) const
    {
        const int row = firstRow(at) + begin;
        const bool hasColumn = column(at) < arguments.columns;
        const std::int64_t base = std::int64_t{row} * arguments.columns + column(at);
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
            const float4 gradient =
                *reinterpret_cast<const float4*>(sums + (begin + i) * kGradientPitch + lane * 4);
            float4& first = batch.first[i];
            float4& second = batch.second[i];
            const uint2 high = batch.weight[i];
            const uint2 low = batch.remainder[i];
            const unsigned a = __float_as_uint(one(high.x, low.x, gradient.x, first.x, second.x));
            const unsigned b = __float_as_uint(one(high.x >> 16, low.x >> 16, gradient.y, first.y, second.y));
            const unsigned c = __float_as_uint(one(high.y, low.y, gradient.z, first.z, second.z));
            const unsigned d = __float_as_uint(one(high.y >> 16, low.y >> 16, gradient.w, first.w, second.w));
            const auto highs = [](unsigned even, unsigned odd) {
                return __byte_perm(even + 0x8000U, odd + 0x8000U, 0x7632);
            };
            if (!hasColumn || row + i >= arguments.rows)
                continue;
            const std::int64_t offset = base + std::int64_t{i} * arguments.columns;
            __stcs(reinterpret_cast<uint2*>(arguments.weight + offset), make_uint2(highs(a, b), highs(c, d)));
            __stcs(reinterpret_cast<uint2*>(arguments.remainder + offset),
                   make_uint2(__byte_perm(a, b, 0x5410), __byte_perm(c, d, 0x5410)));
            __stcs(reinterpret_cast<float4*>(arguments.first + offset), first);
            __stcs(reinterpret_cast<float4*>(arguments.second + offset), second);
        }
    }

    __device__ void run(Shared& shared) const
    {
        RingPosition<kBuffers> ring;
        Batch even;
        Batch odd;
        Half at{Tiles{&arguments}};
        load(even, at, 0);
        while (at.more()) {
            load(odd, at, kBatch);
            wait(shared.sumsFull[ring.stage], ring.parity);
            const float* sums = shared.sums[ring.stage] + warp * kWarpRows * kGradientPitch;
            update(even, at, 0, sums);
            Half next = at;
            next.advance();
            load(even, next, 0);
            update(odd, at, kBatch, sums);
            release(shared.sumsEmpty[ring.stage]);
            ring.advance();
            at = next;
        }
    }
};

__global__ void __launch_bounds__(kThreads, 1)
    adamwProduct(const __grid_constant__ Maps maps, const __grid_constant__ Arguments arguments)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; ++i) {
            initBarrier(shared.full[i], 1);
            initBarrier(shared.empty[i], 4);
        }
        for (int i = 0; i < kBuffers; ++i) {
            initBarrier(shared.sumsFull[i], 4);
            initBarrier(shared.sumsEmpty[i], kUpdateWarps);
        }
        fenceBarrierInit();
        shared.correction = correctionOf(arguments.step);
    }
    __syncthreads();
    const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
    if (warpgroup == 0) {
        releaseRegisters<24>();
        if (threadIdx.x == 0)
            produce(maps, arguments, shared);
    } else if (warpgroup == 1) {
        acquireRegisters<184>();
        multiply(arguments, shared);
    } else {
        acquireRegisters<152>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 8;
        const AdamwCorrection correction = shared.correction;
        Updater{arguments, correction, warp, static_cast<int>(threadIdx.x) % 32}.run(shared);
    }
}

} // namespace

void adamwProductCuda(const AdamwProduct& product, const AdamwOptions& options, const float* step,
                      CudaStream stream)
{
    const auto map = [&](const void* data, std::int64_t columns) {
        return tensorMap(ElementType::BFloat16, const_cast<void*>(data), columns, product.tokens, 1, 1,
                         columns, product.tokens * columns, product.tokens * columns, kTileTokens);
    };
    const Maps maps{map(product.gradient, product.out), map(product.x, product.in)};
    const auto tilesOf = [](std::int64_t size) { return static_cast<int>((size + kTile - 1) / kTile); };
    const Arguments arguments{
        .step = lm::adamwStep(options, step),
        .weight = static_cast<unsigned short*>(product.weight),
        .remainder = product.remainder,
        .first = product.firstMoment,
        .second = product.secondMoment,
        .rows = static_cast<int>(product.out),
        .columns = static_cast<int>(product.in),
        .columnTiles = tilesOf(product.in),
        .tiles = tilesOf(product.in) * tilesOf(product.out),
        .depth = static_cast<int>((product.tokens + kTileTokens - 1) / kTileTokens),
    };
    constexpr int bytes = sizeof(Shared);
    if (allowSharedMemory<adamwProduct>(bytes) != cudaSuccess)
        lm::requireLaunched("adamw_product_");
    const int grid = std::min(arguments.tiles, currentDeviceProperties().multiprocessors);
    adamwProduct<<<grid, kThreads, bytes, stream>>>(maps, arguments);
    lm::requireLaunched("adamw_product_");
}

} // namespace tilescope::kernels
