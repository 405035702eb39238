#pragma once

#include "kernels/cuda/common/ptx.h"

#include <cstddef>

namespace tilescope::kernels {

/// Rows of a matrix of 2-byte elements in shared memory, without padding.
///
/// The 16-byte chunk c of row r is at position c ^ r % 8, so that the eight rows that ldmatrix reads at a time are in
/// different banks. The interface is SharedTile's.
template <class ElementType, int kColumnCount> struct SwizzledTile {
    using Element = ElementType;
    static constexpr int kColumns = kColumnCount;
    static constexpr int kRowBytes = kColumns * 2;
    static constexpr int kChunk = 8; ///< elements of a 16-byte access
    static_assert(sizeof(Element) == 2 && kRowBytes % 128 == 0);
    static constexpr int bytes(int rows) { return rows * kRowBytes; }

    std::byte* base;

    __device__ std::byte* at(int row, int column) const { return base + offset(row, column); }
    __device__ std::uint32_t address(int row, int column) const
    {
        return ptx::sharedAddress(base) + offset(row, column);
    }

private:
    __device__ static int offset(int row, int column)
    {
        return row * kRowBytes + ((column / kChunk) ^ (row % 8)) * 16 + column % kChunk * 2;
    }
};

} // namespace tilescope::kernels
