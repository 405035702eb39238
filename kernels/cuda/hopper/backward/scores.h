#pragma once

#include "kernels/cuda/hopper/backward/tile.h"
#include "kernels/cuda/hopper/common/wgmma.h"

#include <cmath>

namespace tilescope::kernels::hopper {

/// A shared-memory address that is computed where it is used. Otherwise the compiler keeps the addresses of
/// constant operands in registers around the loop, which the products need.
__device__ inline std::uint32_t recomputedAddress(const void* pointer)
{
    std::uint32_t address = sharedAddress(pointer);
    asm volatile("" : "+r"(address));
    return address;
}

/// A kernel argument that is read where it is used.
template <class T> __device__ inline T recomputedValue(T value)
{
    if constexpr (sizeof(T) == 8)
        asm volatile("" : "+l"(value));
    else
        asm volatile("" : "+r"(value));
    return value;
}

/// The inverse of pack().
template <class Element> __device__ inline void unpack(float& first, float& second, std::uint32_t pair)
{
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
        first = __uint_as_float(pair << 16);
        second = __uint_as_float(pair & 0xffff0000U);
    } else {
        const float2 both = __half22float2(reinterpret_cast<const __half2&>(pair));
        first = both.x;
        second = both.y;
    }
}

/// Operations on transposed scores that all consumers share: S^T, P^T and dS^T of 64 keys by one tile of
/// queries, in the registers of a warpgroup.
template <class Tile, class Element> struct BackwardScores {
    static constexpr int kScores = Tile::queries / 2; // accumulator registers of 64 keys x queries
    using Scores = float[kScores];
    using Packed = std::uint32_t[kScores / 2];

    /// 64 rows of keys times all queries of the tile: a b'. Asynchronous.
    __device__ static void multiply(Scores& scores, std::uint64_t keys, std::uint64_t queries)
    {
#pragma unroll
        for (int step = 0; step < Tile::headDim / 16; ++step) {
            const int panel = step / 4;
            const int within = step % 4 * 32;
            product<Element>(scores, advance(keys, panel * Tile::keys * kRowBytes + within),
                             advance(queries, panel * Tile::queries * kRowBytes + within), step > 0);
        }
    }

    /// Sets hidden scores to -infinity.
    /// \param firstKey    of the warpgroup's 64
    /// \param firstQuery  of the tile
    __device__ static void hide(Scores& scores, const MaskPolicy<int>& mask, int firstKey, int firstQuery)
    {
        // Keys past the end are hidden too: their scores of 0 may be far above a row's log-sum-exp.
        if (mask.keysSeenBy(firstQuery) < firstKey + 64) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int key = firstKey + rowInConsumer() + 8 * half;
                const int seenFrom = key < mask.keys ? mask.firstQueryOf(key) : mask.queries + Tile::queries;
                const int hidden = seenFrom - firstQuery - 2 * (threadIdx.x % 4);
#pragma unroll
                for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
                    for (int j = 0; j < 2; ++j)
                        if (8 * i + j < hidden)
                            scores[4 * i + 2 * half + j] = -INFINITY;
            }
        }
    }

    /// The log-sum-exp or delta of the queries of a tile, in shared memory. Those of the first of `Parts` parts are read when
    /// this object is made: before a wait for products, they arrive while these run. Those of the others are read where they
    /// are used, for want of registers.
    template <int Parts> class QueryValues {
    public:
        __device__ explicit QueryValues(const float* values) : values_(values + 2 * (threadIdx.x % 4))
        {
#pragma unroll
            for (int i = 0; i < kFirst; i += 4)
                first_[i / 4] = read(i);
        }

        /// Of the two queries of scores i to i + 3.
        __device__ float2 of(int i) const
        {
            return i < kFirst ? first_[i / 4] : read(i);
        }

    private:
        static constexpr int kFirst = kScores / Parts;

        __device__ float2 read(int i) const
        {
            return *reinterpret_cast<const float2*>(values_ + 2 * i);
        }

        const float* values_;
        float2 first_[kFirst / 4];
    };

    /// Part `part` of `Parts`, by queries: scores = P^T, and packed.
    template <int Parts>
    __device__ static void exponentiate(Scores& scores, Packed& packed, int part,
                                        const QueryValues<Parts>& logSumExp2, float scaleLog2)
    {
        constexpr int kCount = kScores / Parts;
#pragma unroll
        for (int i = part * kCount; i < (part + 1) * kCount; i += 4) {
            const float2 lse = logSumExp2.of(i);
            scores[i] = exp2Approximate(fmaf(scores[i], scaleLog2, -lse.x));
            scores[i + 1] = exp2Approximate(fmaf(scores[i + 1], scaleLog2, -lse.y));
            scores[i + 2] = exp2Approximate(fmaf(scores[i + 2], scaleLog2, -lse.x));
            scores[i + 3] = exp2Approximate(fmaf(scores[i + 3], scaleLog2, -lse.y));
            packed[i / 2] = pack<Element>(scores[i], scores[i + 1]);
            packed[i / 2 + 1] = pack<Element>(scores[i + 2], scores[i + 3]);
        }
    }

    /// Part `part` of `Parts`, by queries: dS^T = P^T (dP^T - delta), packed.
    /// \param weights  P^T: in fp32, or packed if registers for both are lacking
    template <int Parts, class Weights>
    __device__ static void differentiate(const Scores& gradScores, const Weights& weights, Packed& packed,
                                         int part, const QueryValues<Parts>& delta)
    {
        constexpr int kCount = kScores / Parts;
#pragma unroll
        for (int i = part * kCount; i < (part + 1) * kCount; i += 4) {
            const float2 rows = delta.of(i);
            float p[4];
            if constexpr (std::is_same_v<Weights, Packed>) {
                unpack<Element>(p[0], p[1], weights[i / 2]);
                unpack<Element>(p[2], p[3], weights[i / 2 + 1]);
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    p[j] = weights[i + j];
            }
            packed[i / 2] =
                pack<Element>(p[0] * (gradScores[i] - rows.x), p[1] * (gradScores[i + 1] - rows.y));
            packed[i / 2 + 1] =
                pack<Element>(p[2] * (gradScores[i + 2] - rows.x), p[3] * (gradScores[i + 3] - rows.y));
        }
    }
};

/// 64 rows of a tile from a warpgroup's accumulator registers, packed in pairs; part `part` of `Parts`, by
/// columns.
/// \param rows  the first of them; panels lie panelRows rows of 128 bytes apart
template <int Parts = 1, int Count>
__device__ inline void storeRows(unsigned char* rows, int panelRows, const std::uint32_t (&packed)[Count],
                                 int part = 0)
{
    constexpr int kPairs = Count / 4 / Parts; // of chunks of 8 columns
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    const std::uint32_t address = recomputedAddress(rows) + row * kRowBytes + ((lane / 16) ^ (row % 8)) * 16;
#pragma unroll
    for (int pair = part * kPairs; pair < (part + 1) * kPairs; ++pair)
        storeMatrices((address ^ pair % 4 * 32) + pair / 4 * panelRows * kRowBytes, packed[4 * pair],
                      packed[4 * pair + 1], packed[4 * pair + 2], packed[4 * pair + 3]);
}

/// Waits until all earlier key tiles have added to a query tile, for a fixed order of additions. CTAs claim
/// tiles in this order, so that none waits for a tile that has not begun.
__device__ inline void waitForSemaphore(const unsigned* semaphore, unsigned mine)
{
    while (loadAcquire(semaphore) != mine) {
    }
}

constexpr int kWithStoreWarp = kWarpgroup + 32; // threads of a consumer and its store warp

/// Passes 64 x 64 sums of gradQ to the store warp, in the order of accumulator registers.
template <class Tile>
__device__ inline void sendGradQuery(BackwardShared<Tile>& shared, int consumer, const float (&gradQuery)[32])
{
    namedWait(pieceRead(consumer), kWithStoreWarp);
    auto* piece = reinterpret_cast<float4*>(shared.gradQuery[consumer]);
#pragma unroll
    for (int chunk = 0; chunk < 8; ++chunk)
        piece[chunk * kWarpgroup + threadIdx.x % kWarpgroup] =
            make_float4(gradQuery[4 * chunk], gradQuery[4 * chunk + 1], gradQuery[4 * chunk + 2],
                        gradQuery[4 * chunk + 3]);
    fenceAsyncProxy();
    namedArrive(pieceWritten(consumer), kWithStoreWarp);
}

/// Writes 64 rows of a gradient from accumulator registers to shared memory, for the store warp.
template <class Tile, class Element, int Count>
__device__ inline void writeGradient(const float (&grad)[Count], unsigned char* rows)
{
    std::uint32_t packed[Count / 2];
#pragma unroll
    for (int i = 0; i < Count / 2; ++i)
        packed[i] = pack<Element>(grad[2 * i], grad[2 * i + 1]);
    storeRows(rows, Tile::keys, packed);
}

/// Notifies the store warp that this consumer's gradients are in shared memory.
__device__ inline void sendGradients(int consumer)
{
    fenceAsyncProxy();
    namedArrive(gradientsWritten(consumer), kWithStoreWarp);
}

} // namespace tilescope::kernels::hopper
