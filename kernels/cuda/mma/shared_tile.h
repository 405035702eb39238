#pragma once

#include "kernels/cuda/mma/precision.h"

namespace tilescope::kernels {

/// Rows of a matrix in shared memory for the mma.sync kernels.
///
/// Each row is padded by 16 bytes, so that eight consecutive rows of 16 bytes (ldmatrix), and the 32-bit
/// elements (2t, g) that a warp reads of a transposed factor, are in different banks.
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

/// The same for fp32 elements in three bf16 parts (Fp32::split), side by side in a row. They are split once
/// when written, not by each warp that reads them.
template <int kColumnCount> struct SplitTile {
    using Element = float;
    static constexpr int kColumns = kColumnCount;
    static constexpr int kPartBytes = kColumns * 2;
    static constexpr int kRowBytes = Fp32::kParts * kPartBytes + 16;
    static constexpr int kChunk = 8; ///< elements of 16 bytes of a part
    static constexpr int bytes(int rows) { return rows * kRowBytes; }

    std::byte* base;

    __device__ std::byte* at(int part, int row, int column) const
    {
        return base + row * kRowBytes + part * kPartBytes + column * 2;
    }
    __device__ std::uint32_t address(int part, int row, int column) const
    {
        return ptx::sharedAddress(at(part, row, column));
    }
};

/// The tile that the products of a precision read.
template <class Precision, int kColumns>
using OperandTile = std::conditional_t<kIsFp32<Precision>, SplitTile<kColumns>,
                                       SharedTile<typename Precision::Element, kColumns>>;

template <class Tile> inline constexpr bool kIsSplit = false;
template <int kColumns> inline constexpr bool kIsSplit<SplitTile<kColumns>> = true;

/// Starts copying rows [0, kRows) of a matrix in global memory. Missing rows and columns are 0.
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

/// Copies rows [0, kRows) of a matrix in global memory to a tile; missing rows are 0. start() begins the
/// copy, and finish() returns when this thread's share is written. In between the tile may be read only if
/// the elements are in registers (kInRegisters).
template <class Precision, class Tile, int kThreads, int kRows> struct RowsCopy {
    static constexpr bool kInRegisters = false;
    using Element = typename Tile::Element;
    Tile to;

    __device__ void start(const Element* from, std::int64_t rowStride, int rows, int columns)
    {
        copyRows<kThreads, kRows>(to, from, rowStride, rows, columns);
        ptx::commitCopies();
    }
    __device__ void finish()
    {
        ptx::waitCopies<0>();
        if constexpr (kRoundsTiles<Precision>) {
            constexpr int kChunksPerRow = Tile::kColumns / Tile::kChunk;
#pragma unroll 4
            for (int i = threadIdx.x; i < kRows * kChunksPerRow; i += kThreads) {
                auto& chunk =
                    *reinterpret_cast<float4*>(to.at(i / kChunksPerRow, i % kChunksPerRow * Tile::kChunk));
                chunk = make_float4(Precision::rounded(chunk.x), Precision::rounded(chunk.y),
                                    Precision::rounded(chunk.z), Precision::rounded(chunk.w));
            }
        }
    }
};

template <class Precision, int kColumns, int kThreads, int kRows>
struct RowsCopy<Precision, SplitTile<kColumns>, kThreads, kRows> {
    using Tile = SplitTile<kColumns>;
    static constexpr int kQuads = kRows * kColumns / 4; ///< groups of four elements
    static constexpr int kShare = (kQuads + kThreads - 1) / kThreads;
    /// Larger shares would take the registers of the products; finish() loads these.
    static constexpr bool kInRegisters = kShare <= 8;
    Tile to;
    const float* from;
    std::int64_t rowStride;
    int rows, columns;
    float4 held[kInRegisters ? kShare : 1];

    __device__ void start(const float* first, std::int64_t stride, int rowCount, int columnCount)
    {
        from = first;
        rowStride = stride;
        rows = rowCount;
        columns = columnCount;
        if constexpr (kInRegisters) {
#pragma unroll
            for (int i = 0; i < kShare; ++i) {
                held[i] = fetch(i);
            }
        }
    }
    __device__ void finish()
    {
#pragma unroll(kInRegisters ? kShare : 4)
        for (int i = 0; i < kShare; ++i) {
            const int quad = i * kThreads + threadIdx.x;
            if (kQuads % kThreads == 0 || quad < kQuads) {
                const float4 value = kInRegisters ? held[kInRegisters ? i : 0] : fetch(i);
                std::uint32_t low[Fp32::kParts];
                std::uint32_t high[Fp32::kParts];
                Fp32::split(value.x, value.y, low);
                Fp32::split(value.z, value.w, high);
#pragma unroll
                for (int part = 0; part < Fp32::kParts; ++part) {
                    *reinterpret_cast<uint2*>(to.at(part, rowOf(quad), columnOf(quad))) =
                        make_uint2(low[part], high[part]);
                }
            }
        }
    }

private:
    __device__ static int rowOf(int quad)
    {
        return quad / (kColumns / 4);
    }
    __device__ static int columnOf(int quad)
    {
        return quad % (kColumns / 4) * 4;
    }
    __device__ float4 fetch(int i) const
    {
        const int quad = i * kThreads + threadIdx.x;
        const int row = rowOf(quad);
        const int column = columnOf(quad);
        const bool valid = (kQuads % kThreads == 0 || quad < kQuads) && row < rows && column < columns;
        return valid ? *reinterpret_cast<const float4*>(from + row * rowStride + column)
                     : make_float4(0, 0, 0, 0);
    }
};

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

} // namespace tilescope::kernels
