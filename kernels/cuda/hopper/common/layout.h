#pragma once

#include <cstdint>

/// The layout of wgmma's operands in shared memory and in registers (PTX ISA 9.0, 9.7.15.5), as plain
/// arithmetic. Kernels compute their addresses with it, and tests multiply with it on a CPU.
///
/// A tile consists of consecutive panels with rows of 128 bytes: 64 columns of 2 bytes or 32 of 4. In each
/// group of eight rows, the 16-byte chunk c of row r is at position c ^ r % 8: the 128-byte swizzle of TMA
/// and wgmma. Tiles begin at multiples of 1024 bytes.
namespace tilescope::kernels::hopper {

constexpr int kRowBytes = 128;
constexpr int kChunkBytes = 16;
constexpr int kChunksPerRow = kRowBytes / kChunkBytes;
constexpr int kGroupRows = 8;
constexpr int kTf32Columns = kRowBytes / 4; ///< of a panel
constexpr int kTf32Depth = 8;               ///< of one instruction: 32 bytes of each row

/// Byte offset of a 16-byte chunk of a row, in a tile whose panels have `panelRows` rows. Prefer an unsigned
/// Index: a remainder then takes one instruction, and five for int.
template <class Index> constexpr Index chunkOffset(int panelRows, Index row, Index chunk)
{
    return (chunk / kChunksPerRow * panelRows + row) * kRowBytes +
           ((chunk % kChunksPerRow) ^ (row % kGroupRows)) * kChunkBytes;
}

/// Byte offset of a 4-byte element.
template <class Index> constexpr Index elementOffset(int panelRows, Index row, Index column)
{
    return chunkOffset<Index>(panelRows, row, column / 4) + column % 4 * 4;
}

/// The matrix descriptor of an operand in shared memory. Groups of eight rows are 1024 bytes apart.
/// \param panelBytes  distance between panels; used only by MN-major operands, whose rows run across the
///                    depth of the product (V of 2-byte elements, and the transposed ones)
constexpr std::uint64_t matrixDescriptor(std::uint32_t address, std::uint32_t panelBytes = 16)
{
    constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
    constexpr std::uint64_t kGroupStride = std::uint64_t{1024 >> 4} << 32;
    return kSwizzle128 | kGroupStride | std::uint64_t{panelBytes >> 4} << 16 | (address >> 4);
}

/// The descriptor of the operand that begins `bytes` later.
constexpr std::uint64_t advance(std::uint64_t descriptor, std::uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

/// Byte offset of a step in a K-major operand, whose rows run along the depth of the product. A step takes 32
/// bytes of every row. The swizzle depends on the address, so an offset may be added to a descriptor.
constexpr std::uint32_t stepOffset(int panelRows, int step)
{
    return static_cast<std::uint32_t>(step / 4 * panelRows * kRowBytes + step % 4 * 32);
}

// --- registers -----------------------------------------------------------------------------------

struct Coordinates {
    int row;
    int column;
};

/// Row and column of a thread's accumulator i in a warpgroup's 64 x N.
constexpr Coordinates accumulatorAt(int thread, int i)
{
    return {thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2};
}

/// Row and column of register i of the first operand in one TF32 step of 64 x 8.
constexpr Coordinates tf32OperandAt(int thread, int i)
{
    return {thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8, thread % 4 + i / 2 * 4};
}

// --- P from accumulators to operand --------------------------------------------------------------
//
// Of 8 keys, a thread has columns 2t and 2t + 1 as accumulators, but needs columns t and t + 4 as an operand.
// The order of a sum's terms is arbitrary. So step s of P V takes keys 8 s to 8 s + 7 in the order 0, 2, 4,
// 6, 1, 3, 5, 7, V is stored in this order, and P stays in its thread. FlashAttention-3 does the same for fp8
// (arXiv:2407.08608, section 3.3).

/// The key of a tile that column `column` of the transposed V holds.
constexpr int keyOfColumn(int column)
{
    const int within = column % kTf32Depth;
    return column - within + (within < 4 ? 2 * within : 2 * within - 7);
}

/// The accumulator of a tile of scores that becomes register i of P, counted over all steps.
constexpr int accumulatorOfOperand(int i)
{
    constexpr int kOrder[] = {0, 2, 1, 3}; // row g, row g + 8; then the same of the next key
    return i / 4 * 4 + kOrder[i % 4];
}

/// The same for FP8, whose steps take 32 keys. Of each row, a thread has columns 8 j + 2t and 8 j + 2t + 1 of blocks
/// j = 0 to 3 as accumulators, and needs columns 4t to 4t + 3 and 16 + 4t to 16 + 4t + 3 as an operand: blocks 0 and
/// 1, and blocks 2 and 3. This is the column of V transposed that holds key `key`.
constexpr int kFp8Depth = 32;
constexpr int fp8ColumnOfKey(int key)
{
    return key / 16 * 16 + key % 8 / 2 * 4 + key % 16 / 8 * 2 + key % 2;
}

/// The index of the first of two neighbouring accumulators (of row g or g + 8) that become bytes 2 pair and 2
/// pair + 1 of register i of P. Registers are counted over all steps.
constexpr int accumulatorOfFp8Operand(int i, int pair)
{
    return i / 4 * 16 + i % 4 / 2 * 8 + pair * 4 + i % 2 * 2;
}

// --- dS from accumulators to shared memory --------------------------------------------------------
//
// In shared memory a row of dS is a query and its columns are keys. Of each 16 keys a thread holds g and g +
// 8. These are stored side by side, so that a thread writes two at a time; K^T has its keys in the same
// order.

/// The key of a tile that column `column` of dS, and of the transposed K, holds.
constexpr int keyOfScoreColumn(int column)
{
    return column / 16 * 16 + column % 16 / 2 + column % 2 * 8;
}

// --- V transposed --------------------------------------------------------------------------------

/// Transposes V (keys x head dim, as TMA delivers it) to head dim x keys, in blocks of 32 keys by 32 columns
/// of V. Each lane takes one column of a block: 32 elements, one 128-byte row of the transposed tile. A warp
/// reads whole rows and writes eight different chunks at a time, without bank conflicts.
template <int Keys, int HeadDim> struct Transposition {
    static_assert(Keys % kTf32Columns == 0 && HeadDim % kTf32Columns == 0);
    static constexpr unsigned kEdge = kTf32Columns;
    static constexpr unsigned kKeyBlocks = Keys / kEdge;
    static constexpr unsigned kBlocks = kKeyBlocks * (HeadDim / kEdge);

    /// Byte offset in V of key `key` of 32.
    static constexpr unsigned source(unsigned block, unsigned lane, unsigned key)
    {
        return elementOffset(Keys, block % kKeyBlocks * kEdge + key, block / kKeyBlocks * kEdge + lane);
    }
    /// Byte offset in the transposed tile of chunk `chunk` of eight, which holds the keys from
    /// keyOfColumn(4 chunk) on.
    static constexpr unsigned target(unsigned block, unsigned lane, unsigned chunk)
    {
        return chunkOffset(HeadDim, block / kKeyBlocks * kEdge + lane,
                           block % kKeyBlocks * kChunksPerRow + chunk);
    }
};

} // namespace tilescope::kernels::hopper
