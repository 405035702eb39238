#pragma once

#include "kernels/cuda/precision.h"

namespace tilescope::kernels {

/// Rows of a matrix in shared memory for the mma.sync kernels.
///
/// Each row is padded by 16 bytes: eight consecutive rows of 16 bytes (ldmatrix), and the 32-bit elements
/// (2t, g) that a warp reads of a transposed factor, then lie in different banks.
template <class ElementType, int kColumnCount> struct SharedTile {
    using Element = ElementType;
    static constexpr int kColumns = kColumnCount;
    static constexpr int kRowBytes = kColumns * int(sizeof(Element)) + 16;
    static constexpr int kChunk = 16 / int(sizeof(Element)); ///< elements of a 16-byte access
    static constexpr int bytes(int rows) { return rows * kRowBytes; }

    std::byte* base;

    __device__ std::byte* at(int row, int column) const
    {
        return base + row * kRowBytes + column * int(sizeof(Element));
    }
    __device__ std::uint32_t address(int row, int column) const
    {
        return ptx::sharedAddress(at(row, column));
    }
    __device__ std::uint32_t word(int row, int column) const
    {
        return *reinterpret_cast<const std::uint32_t*>(at(row, column));
    }
};

/// Starts copying rows [0, kRows) of a matrix in global memory; rows and columns that are not there become 0.
template <int kThreads, int kRows, class Tile>
__device__ void copyRows(Tile to, const typename Tile::Element* from, std::int64_t rowStride, int rows,
                         int columns)
{
    constexpr int kChunksPerRow = Tile::kColumns / Tile::kChunk;
#pragma unroll 4
    for (int i = threadIdx.x; i < kRows * kChunksPerRow; i += kThreads) {
        const int row = i / kChunksPerRow;
        const int column = i % kChunksPerRow * Tile::kChunk;
        const bool valid = row < rows && column < columns;
        ptx::copyAsync16(to.address(row, column), valid ? from + row * rowStride + column : from, valid);
    }
}

/// Writes rows from shared to global memory, 16 bytes a thread.
template <int kThreads, int kRows, class Tile>
__device__ void writeRows(Tile from, typename Tile::Element* to, std::int64_t rowStride, int rows,
                          int columns, int thread = threadIdx.x)
{
    constexpr int kChunksPerRow = Tile::kColumns / Tile::kChunk;
#pragma unroll 4
    for (int i = thread; i < kRows * kChunksPerRow; i += kThreads) {
        const int row = i / kChunksPerRow;
        const int column = i % kChunksPerRow * Tile::kChunk;
        if (row < rows && column < columns) {
            *reinterpret_cast<uint4*>(to + row * rowStride + column) =
                *reinterpret_cast<const uint4*>(from.at(row, column));
        }
    }
}

// --- fragments -----------------------------------------------------------------------------------
//
// A sum does not mind in which order it is made, as long as both factors of a product are permuted alike:
// - TF32, where a factor comes from accumulators or from a transposed tile: what the instruction calls depth
// t
//   and t + 4 is 2t and 2t + 1 here, the columns that a lane holds of an accumulator.
// - fp32, where both factors' depth lies along their rows: 2t, 2t + 1, 2t + 8, 2t + 9 are t, t + 4, t + 8,
//   t + 12 here, what ldmatrix gives a lane.

__device__ inline int lane()
{
    return threadIdx.x % 32;
}

/// A: rows `row` to row + 15 of the tile, its columns are the depth.
template <class Precision, class Tile> __device__ typename Precision::A loadA(Tile tile, int row, int depth)
{
    const int matrix = lane() / 8;
    if constexpr (kIsFp32<Precision>) {
        std::uint32_t top[4];
        std::uint32_t bottom[4];
        ptx::loadMatrices(top, tile.address(row + lane() % 8, depth + matrix * Tile::kChunk));
        ptx::loadMatrices(bottom, tile.address(row + 8 + lane() % 8, depth + matrix * Tile::kChunk));
        const std::uint32_t raw[8] = {top[0], top[1], bottom[0], bottom[1],
                                      top[2], top[3], bottom[2], bottom[3]};
        return Precision::prepare(raw);
    } else {
        std::uint32_t raw[4];
        ptx::loadMatrices(raw,
                          tile.address(row + matrix % 2 * 8 + lane() % 8, depth + matrix / 2 * Tile::kChunk));
        return Precision::prepare(raw);
    }
}

/// A from a tile that holds it transposed: columns `row` to row + 15 of the tile, its rows are the depth.
template <class Precision, class Tile>
__device__ typename Precision::A loadATransposed(Tile tile, int row, int depth)
{
    if constexpr (kIsSixteenBit<Precision>) {
        std::uint32_t raw[4];
        const int matrix = lane() / 8;
        ptx::loadMatricesTransposed(raw,
                                    tile.address(depth + matrix / 2 * 8 + lane() % 8, row + matrix % 2 * 8));
        return Precision::prepare(raw);
    } else {
        constexpr int kPerRegister = Precision::kDepth / 8; // elements
        const int g = lane() / 4;
        const int t = lane() % 4;
        std::uint32_t raw[4 * kPerRegister];
#pragma unroll
        for (int i = 0; i < 4 * kPerRegister; ++i) {
            const int matrix = i / kPerRegister;
            const int within = kPerRegister == 2 ? matrix / 2 * 8 + i % 2 : matrix / 2;
            raw[i] = tile.word(depth + 2 * t + within, row + g + matrix % 2 * 8);
        }
        return Precision::prepare(raw);
    }
}

/// B, twice: rows `column` to column + 15 of the tile are the columns of two fragments, its columns the
/// depth.
template <class Precision, class Tile>
__device__ void loadB(Tile tile, int column, int depth, typename Precision::B (&b)[2])
{
    std::uint32_t raw[4];
    const int matrix = lane() / 8;
    if constexpr (kIsFp32<Precision>) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            ptx::loadMatrices(raw, tile.address(column + i * 8 + lane() % 8, depth + matrix * Tile::kChunk));
            b[i] = Precision::prepare(raw);
        }
    } else {
        ptx::loadMatrices(
            raw, tile.address(column + matrix / 2 * 8 + lane() % 8, depth + matrix % 2 * Tile::kChunk));
        b[0] = Precision::prepare(raw[0], raw[1]);
        b[1] = Precision::prepare(raw[2], raw[3]);
    }
}

/// B, twice, from a tile that holds it transposed: its rows are the depth.
template <class Precision, class Tile>
__device__ void loadBTransposed(Tile tile, int column, int depth, typename Precision::B (&b)[2])
{
    if constexpr (kIsSixteenBit<Precision>) {
        std::uint32_t raw[4];
        const int matrix = lane() / 8;
        ptx::loadMatricesTransposed(
            raw, tile.address(depth + matrix % 2 * 8 + lane() % 8, column + matrix / 2 * 8));
        b[0] = Precision::prepare(raw[0], raw[1]);
        b[1] = Precision::prepare(raw[2], raw[3]);
    } else {
        const int g = lane() / 4;
        const int row = depth + 2 * (lane() % 4);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = column + i * 8 + g;
            if constexpr (kIsFp32<Precision>) {
                const std::uint32_t raw[4] = {tile.word(row, at), tile.word(row + 1, at),
                                              tile.word(row + 8, at), tile.word(row + 9, at)};
                b[i] = Precision::prepare(raw);
            } else {
                b[i] = Precision::prepare(tile.word(row, at), tile.word(row + 1, at));
            }
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
        return Precision::prepare(raw);
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

/// c += a b^T: rows of `a` from `row`, all kBlocks * 8 rows of `b`, the tiles' columns are the depth.
template <class Precision, int kFragments, int kBlocks, class Tile>
__device__ void multiplyRows(float (&c)[kFragments][kBlocks][4], Tile a, int row, Tile b)
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
            loadB<Precision>(b, n * 8, depth, right);
            multiplyFragments<Precision>(c, n, left, right);
        }
    }
}

/// c += a b: `a` from accumulators, the rows of `b` are the depth, its columns from `column` those of c.
template <class Precision, int kFragments, int kDepthBlocks, int kBlocks, class Tile>
__device__ void multiplyAccumulators(float (&c)[kFragments][kBlocks][4],
                                     const float (&a)[kFragments][kDepthBlocks][4], Tile b, int column = 0)
{
#pragma unroll
    for (int step = 0; step < kDepthBlocks * 8 / Precision::kDepth; ++step) {
        typename Precision::A left[kFragments];
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            left[m] = fromAccumulators<Precision>(a[m], step);
        }
#pragma unroll
        for (int n = 0; n < kBlocks; n += 2) {
            typename Precision::B right[2];
            loadBTransposed<Precision>(b, column + n * 8, step * Precision::kDepth, right);
            multiplyFragments<Precision>(c, n, left, right);
        }
    }
}

/// c += a^T b: both tiles' rows are the depth; a's columns from `row` are the rows of c, b's from `column`
/// its columns.
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

/// Writes 16 x (kBlocks * 8) accumulators times `factor(half)` as elements into a tile; half 0 is row g, 1
/// row g + 8.
template <class Precision, int kBlocks, class Tile, class Factor>
__device__ void storeAccumulators(const float (&c)[kBlocks][4], Tile to, int row, Factor factor)
{
    const int g = lane() / 4;
    const int t = lane() % 4;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float first = c[n][2 * half] * factor(half);
            const float second = c[n][2 * half + 1] * factor(half);
            std::byte* at = to.at(row + g + half * 8, n * 8 + 2 * t);
            if constexpr (kIsSixteenBit<Precision>) {
                *reinterpret_cast<std::uint32_t*>(at) = Precision::pack(first, second);
            } else {
                *reinterpret_cast<float2*>(at) = make_float2(first, second);
            }
        }
    }
}

} // namespace tilescope::kernels
