#pragma once

#include "kernels/cuda/mma/shared_tile.h"

/// Products of tiles in shared memory and of accumulators with mma.sync: reads, multiplies and writes
/// fragments.
namespace tilescope::kernels {

// --- fragments -----------------------------------------------------------------------------------
//
// The order of a sum's terms is arbitrary as long as both factors have the same order. For TF32, if a factor
// comes from accumulators or from a transposed tile, the instruction's depths t and t + 4 are 2t and 2t + 1
// here: the columns of an accumulator that a lane holds.

__device__ inline int lane()
{
    return threadIdx.x % 32;
}

/// Sets one part of two fragments to what ldmatrix returned.
template <class Precision>
__device__ void setParts(typename Precision::B (&b)[2], int part, const std::uint32_t (&raw)[4])
{
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        b[i / 2].part[part][i % 2] = raw[i];
    }
}

/// Loads A: rows `row` to row + 15 of the tile, whose columns are the depth.
template <class Precision, class Tile> __device__ typename Precision::A loadA(Tile tile, int row, int depth)
{
    const int matrix = lane() / 8;
    const int from = row + matrix % 2 * 8 + lane() % 8;
    const int column = depth + matrix / 2 * Tile::kChunk;
    if constexpr (kIsFp32<Precision>) {
        typename Precision::A a;
#pragma unroll
        for (int part = 0; part < Precision::kParts; ++part) {
            ptx::loadMatrices(a.part[part], tile.address(part, from, column));
        }
        return a;
    } else {
        std::uint32_t raw[4];
        ptx::loadMatrices(raw, tile.address(from, column));
        return Precision::prepare(raw);
    }
}

/// Loads A from a transposed tile: columns `row` to row + 15 of the tile, whose rows are the depth.
template <class Precision, class Tile>
__device__ typename Precision::A loadATransposed(Tile tile, int row, int depth)
{
    const int matrix = lane() / 8;
    const int from = depth + matrix / 2 * 8 + lane() % 8;
    const int column = row + matrix % 2 * 8;
    if constexpr (kIsFp32<Precision>) {
        typename Precision::A a;
#pragma unroll
        for (int part = 0; part < Precision::kParts; ++part) {
            ptx::loadMatricesTransposed(a.part[part], tile.address(part, from, column));
        }
        return a;
    } else if constexpr (kIsSixteenBit<Precision>) {
        std::uint32_t raw[4];
        ptx::loadMatricesTransposed(raw, tile.address(from, column));
        return Precision::prepare(raw);
    } else {
        const int g = lane() / 4;
        const int t = lane() % 4;
        std::uint32_t raw[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            raw[i] = tile.word(depth + 2 * t + i / 2, row + g + i % 2 * 8);
        }
        return Precision::prepare(raw);
    }
}

/// Loads two B fragments: rows `column` to column + 15 of the tile are their columns, its columns are the
/// depth.
template <class Precision, class Tile>
__device__ void loadB(Tile tile, int column, int depth, typename Precision::B (&b)[2])
{
    const int matrix = lane() / 8;
    const int from = column + matrix / 2 * 8 + lane() % 8;
    const int first = depth + matrix % 2 * Tile::kChunk;
    std::uint32_t raw[4];
    if constexpr (kIsFp32<Precision>) {
#pragma unroll
        for (int part = 0; part < Precision::kParts; ++part) {
            ptx::loadMatrices(raw, tile.address(part, from, first));
            setParts<Precision>(b, part, raw);
        }
    } else {
        ptx::loadMatrices(raw, tile.address(from, first));
        b[0] = Precision::prepare(raw[0], raw[1]);
        b[1] = Precision::prepare(raw[2], raw[3]);
    }
}

/// Loads two B fragments from a transposed tile, whose rows are the depth.
template <class Precision, class Tile>
__device__ void loadBTransposed(Tile tile, int column, int depth, typename Precision::B (&b)[2])
{
    const int matrix = lane() / 8;
    const int from = depth + matrix % 2 * 8 + lane() % 8;
    const int first = column + matrix / 2 * 8;
    std::uint32_t raw[4];
    if constexpr (kIsFp32<Precision>) {
#pragma unroll
        for (int part = 0; part < Precision::kParts; ++part) {
            ptx::loadMatricesTransposed(raw, tile.address(part, from, first));
            setParts<Precision>(b, part, raw);
        }
    } else if constexpr (kIsSixteenBit<Precision>) {
        ptx::loadMatricesTransposed(raw, tile.address(from, first));
        b[0] = Precision::prepare(raw[0], raw[1]);
        b[1] = Precision::prepare(raw[2], raw[3]);
    } else {
        const int row = depth + 2 * (lane() % 4);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = column + i * 8 + lane() / 4;
            b[i] = Precision::prepare(tile.word(row, at), tile.word(row + 1, at));
        }
    }
}

/// A from accumulators: their columns step * kDepth and on are the (permuted) depth.
template <class Precision, int kBlocks>
__device__ typename Precision::A fromAccumulators(const float (&c)[kBlocks][4], int step)
{
    if constexpr (kIsSixteenBit<Precision>) {
        const auto& low = c[2 * step];
        const auto& high = c[2 * step + 1];
        const std::uint32_t raw[4] = {Precision::pack(low[0], low[1]), Precision::pack(low[2], low[3]),
                                      Precision::pack(high[0], high[1]), Precision::pack(high[2], high[3])};
        return Precision::prepare(raw);
    } else if constexpr (kIsFp32<Precision>) {
        std::uint32_t raw[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            raw[i] = __float_as_uint(c[2 * step + i / 4][i % 4]);
        }
        return Precision::prepare(raw);
    } else {
        const auto& block = c[step];
        const std::uint32_t raw[4] = {__float_as_uint(block[0]), __float_as_uint(block[2]),
                                      __float_as_uint(block[1]), __float_as_uint(block[3])};
        return Precision::round(raw);
    }
}

// --- products ------------------------------------------------------------------------------------

/// c[m][n] += left[m] right[0] and c[m][n + 1] += left[m] right[1], for each m.
template <class Precision, int kFragments, int kBlocks>
__device__ void multiplyFragments(float (&c)[kFragments][kBlocks][4], int n,
                                  const typename Precision::A (&left)[kFragments],
                                  const typename Precision::B (&right)[2])
{
    if constexpr (kIsFp32<Precision>) {
        // Term by term: what follows another in one sum waits for it.
        float sums[kFragments][2][4] = {};
#pragma unroll
        for (int term = 0; term < Precision::kTerms; ++term) {
#pragma unroll
            for (int i = 0; i < 2 * kFragments; ++i) {
                Precision::multiplyTerm(term, sums[i / 2][i % 2], left[i / 2], right[i % 2]);
            }
        }
#pragma unroll
        for (int i = 0; i < 8 * kFragments; ++i) {
            c[i / 8][n + i / 4 % 2][i % 4] += sums[i / 8][i / 4 % 2][i % 4];
        }
    } else {
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            Precision::multiply(c[m][n], left[m], right[0]);
            Precision::multiply(c[m][n + 1], left[m], right[1]);
        }
    }
}

/// c += a b^T: rows of `a` from `row` on, kBlocks * 8 rows of `b` from `column` on. The tiles' columns are
/// the depth.
template <class Precision, int kFragments, int kBlocks, class Tile, class OtherTile>
__device__ void multiplyRows(float (&c)[kFragments][kBlocks][4], Tile a, int row, OtherTile b, int column = 0)
{
#pragma unroll(kIsFp32 <Precision> ? 1 : 4)
    for (int depth = 0; depth < Tile::kColumns; depth += Precision::kDepth) {
        typename Precision::A left[kFragments];
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            left[m] = loadA<Precision>(a, row + m * 16, depth);
        }
#pragma unroll
        for (int n = 0; n < kBlocks; n += 2) {
            typename Precision::B right[2];
            loadB<Precision>(b, column + n * 8, depth, right);
            multiplyFragments<Precision>(c, n, left, right);
        }
    }
}

/// c += a b: `a` from accumulators. The rows of `b` from `row` on are the depth, its columns from `column` on
/// are the columns of c.
/// \tparam kSeparateSum  sums the product before adding it to c: fewer roundings of a large sum
template <class Precision, bool kSeparateSum = false, int kFragments, int kDepthBlocks, int kBlocks,
          class Tile>
__device__ void multiplyAccumulators(float (&c)[kFragments][kBlocks][4],
                                     const float (&a)[kFragments][kDepthBlocks][4], Tile b, int column = 0,
                                     int row = 0)
{
    constexpr int kSteps = kDepthBlocks * 8 / Precision::kDepth;
    if constexpr (kSeparateSum && kSteps > 1) {
        typename Precision::A left[kSteps][kFragments];
#pragma unroll
        for (int i = 0; i < kSteps * kFragments; ++i) {
            left[i / kFragments][i % kFragments] =
                fromAccumulators<Precision>(a[i % kFragments], i / kFragments);
        }
#pragma unroll
        for (int n = 0; n < kBlocks; n += 2) {
            float sums[kFragments][2][4] = {};
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                typename Precision::B right[2];
                loadBTransposed<Precision>(b, column + n * 8, row + step * Precision::kDepth, right);
                multiplyFragments<Precision>(sums, 0, left[step], right);
            }
#pragma unroll
            for (int i = 0; i < 8 * kFragments; ++i) {
                c[i / 8][n + i / 4 % 2][i % 4] += sums[i / 8][i / 4 % 2][i % 4];
            }
        }
    } else {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            typename Precision::A left[kFragments];
#pragma unroll
            for (int m = 0; m < kFragments; ++m) {
                left[m] = fromAccumulators<Precision>(a[m], step);
            }
#pragma unroll
            for (int n = 0; n < kBlocks; n += 2) {
                typename Precision::B right[2];
                loadBTransposed<Precision>(b, column + n * 8, row + step * Precision::kDepth, right);
                multiplyFragments<Precision>(c, n, left, right);
            }
        }
    }
}

/// The same in TF32 without the rounding error of `a`: the remainder is multiplied too, in bf16.
template <int kFragments, int kDepthBlocks, int kBlocks, class Tile>
__device__ void multiplyUnrounded(float (&c)[kFragments][kBlocks][4],
                                  const float (&a)[kFragments][kDepthBlocks][4], Tile b)
{
    static_assert(kDepthBlocks % 2 == 0);
    multiplyAccumulators<Tf32>(c, a, b);
#pragma unroll
    for (int step = 0; step < kDepthBlocks; step += 2) { // two TF32 steps have the depth of one bf16 step
        Bf16::A rest[kFragments];
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            float low[2][4];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float value = a[m][step + i / 4][i % 4];
                low[i / 4][i % 4] = value - Tf32::rounded(value);
            }
            rest[m] = fromAccumulators<Bf16>(low, 0);
        }
#pragma unroll
        for (int n = 0; n < kBlocks; n += 2) {
            Bf16::B packed[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                Tf32::B right[2];
                loadBTransposed<Tf32>(b, n * 8, (step + half) * Tf32::kDepth, right);
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    packed[i].bits[half] =
                        ptx::packBf16(__uint_as_float(right[i].bits[0]), __uint_as_float(right[i].bits[1]));
                }
            }
            multiplyFragments<Bf16>(c, n, rest, packed);
        }
    }
}

/// c += a^T b: both tiles' rows are the depth. The columns of `a` from `row` on are the rows of c, and the
/// columns of `b` from `column` on are its columns.
template <class Precision, int kDepthRows, int kBlocks, class TileA, class TileB>
__device__ void multiplyTransposed(float (&c)[1][kBlocks][4], TileA a, int row, TileB b, int column)
{
#pragma unroll(kIsFp32 <Precision> ? 1 : 2)
    for (int depth = 0; depth < kDepthRows; depth += Precision::kDepth) {
        const typename Precision::A left[1] = {loadATransposed<Precision>(a, row, depth)};
#pragma unroll
        for (int n = 0; n < kBlocks; n += 2) {
            typename Precision::B right[2];
            loadBTransposed<Precision>(b, column + n * 8, depth, right);
            multiplyFragments<Precision>(c, n, left, right);
        }
    }
}

// --- accumulators to memory ----------------------------------------------------------------------

/// Writes 16 x (kBlocks * 8) accumulators times `factor(half)` to a tile from (row, column) on. Half 0 is row
/// g, half 1 is row g + 8.
template <class Precision, int kBlocks, class Tile, class Factor>
__device__ void storeAccumulators(const float (&c)[kBlocks][4], Tile to, int row, Factor factor,
                                  int column = 0)
{
    const int g = lane() / 4;
    const int t = lane() % 4;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float first = c[n][2 * half] * factor(half);
            const float second = c[n][2 * half + 1] * factor(half);
            const int toRow = row + g + half * 8;
            const int toColumn = column + n * 8 + 2 * t;
            if constexpr (kIsSplit<Tile>) {
                std::uint32_t parts[Fp32::kParts];
                Fp32::split(first, second, parts);
#pragma unroll
                for (int part = 0; part < Fp32::kParts; ++part) {
                    *reinterpret_cast<std::uint32_t*>(to.at(part, toRow, toColumn)) = parts[part];
                }
            } else if constexpr (kIsSixteenBit<Precision>) {
                *reinterpret_cast<std::uint32_t*>(to.at(toRow, toColumn)) = Precision::pack(first, second);
            } else {
                *reinterpret_cast<float2*>(to.at(toRow, toColumn)) = make_float2(first, second);
            }
        }
    }
}

} // namespace tilescope::kernels
