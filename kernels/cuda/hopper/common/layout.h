#pragma once

#include <cstdint>

/// How wgmma's operands lie in shared memory and in registers (PTX ISA 9.0, 9.7.15.5), as plain arithmetic:
/// kernels compute their addresses with it, and tests multiply with it on a CPU.
///
/// A tile is one panel after another, whose rows are 128 bytes: what one swizzled row holds, 64 columns of 2
/// bytes or 32 of 4. Within each group of eight rows the 16-byte chunk c of row r lies at place c ^ r % 8:
/// the 128-byte swizzle of TMA and wgmma. Tiles begin at multiples of 1024 bytes.
namespace tilescope::kernels::hopper {

constexpr int kRowBytes = 128;
constexpr int kChunkBytes = 16;
constexpr int kChunksPerRow = kRowBytes / kChunkBytes;
constexpr int kGroupRows = 8;
constexpr int kTf32Columns = kRowBytes / 4; ///< of a panel
constexpr int kTf32Depth = 8;               ///< of one instruction: 32 bytes of each row

/// Where a 16-byte chunk of a row begins, in a tile whose panels have `panelRows` rows. (Remainders of
/// unsigned numbers are one instruction, those of int five.)
template <class Index> constexpr Index chunkOffset(int panelRows, Index row, Index chunk)
{
    return (chunk / kChunksPerRow * panelRows + row) * kRowBytes +
           ((chunk % kChunksPerRow) ^ (row % kGroupRows)) * kChunkBytes;
}

/// Where a 4-byte element lies.
template <class Index> constexpr Index elementOffset(int panelRows, Index row, Index column)
{
    return chunkOffset<Index>(panelRows, row, column / 4) + column % 4 * 4;
}

/// Where a warpgroup finds an operand in shared memory: groups of eight rows are 1024 bytes apart.
/// `panelBytes` is the distance between panels; only operands whose rows run across the depth of the product
/// (V of 2-byte elements, the transposed ones) use it.
constexpr std::uint64_t matrixDescriptor(std::uint32_t address, std::uint32_t panelBytes = 16)
{
    constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
    constexpr std::uint64_t kGroupStride = std::uint64_t{1024 >> 4} << 32;
    return kSwizzle128 | kGroupStride | std::uint64_t{panelBytes >> 4} << 16 | (address >> 4);
}

/// The descriptor `bytes` further on.
constexpr std::uint64_t advance(std::uint64_t descriptor, std::uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

/// How far into an operand whose rows run along the depth step number `step` begins: each takes 32 bytes of
/// every row. The swizzle goes by the address, so a step is found by adding to the descriptor's.
constexpr std::uint32_t stepOffset(int panelRows, int step)
{
    return static_cast<std::uint32_t>(step / 4 * panelRows * kRowBytes + step % 4 * 32);
}

// --- registers -----------------------------------------------------------------------------------

struct Coordinates {
    int row;
    int column;
};

/// What accumulator i of a thread of the warpgroup is, of 64 x N.
constexpr Coordinates accumulatorAt(int thread, int i)
{
    return {thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2};
}

/// What register i of the first operand is in one TF32 step, of 64 x 8.
constexpr Coordinates tf32OperandAt(int thread, int i)
{
    return {thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8, thread % 4 + i / 2 * 4};
}

// --- P from accumulators to operand --------------------------------------------------------------
//
// A thread's accumulators of 8 keys are columns 2t and 2t + 1, its operand registers columns t and t + 4. A
// sum does not mind in which order it is made: so step s of P V takes the keys 8 s to 8 s + 7 in the order 0,
// 2, 4, 6, 1, 3, 5, 7, V is stored in that order, and P never leaves its thread. (FlashAttention-3 does the
// like for fp8, arXiv:2407.08608, section 3.3.)

/// Which key of a tile is column `column` of the transposed V.
constexpr int keyOfColumn(int column)
{
    const int within = column % kTf32Depth;
    return column - within + (within < 4 ? 2 * within : 2 * within - 7);
}

/// Which accumulator of a tile of scores becomes register i of P, counted over all steps.
constexpr int accumulatorOfOperand(int i)
{
    constexpr int kOrder[] = {0, 2, 1, 3}; // row g, row g + 8; then the same of the next key
    return i / 4 * 4 + kOrder[i % 4];
}

// --- dS from accumulators to shared memory --------------------------------------------------------
//
// There dS has rows of queries, with the keys along them. Of each 16 keys a thread holds g and g + 8: they
// are neighbours there, so that it writes two at a time, and K^T has its keys in the same order.

/// Which key of a tile is column `column` of dS, and of the transposed K.
constexpr int keyOfScoreColumn(int column)
{
    return column / 16 * 16 + column % 16 / 2 + column % 2 * 8;
}

// --- V transposed --------------------------------------------------------------------------------

/// The way of V (keys x head dim, as the copy engine delivers it) to its transposed (head dim x keys), in
/// blocks of 32 keys by 32 columns of V. Each lane takes one column of a block, 32 elements, which is one
/// 128-byte row of the transposed: a warp reads whole rows and writes eight different chunks at a time, and
/// no two of its lanes meet in a bank.
template <int Keys, int HeadDim> struct Transposition {
    static_assert(Keys % kTf32Columns == 0 && HeadDim % kTf32Columns == 0);
    static constexpr unsigned kEdge = kTf32Columns;
    static constexpr unsigned kKeyBlocks = Keys / kEdge;
    static constexpr unsigned kBlocks = kKeyBlocks * (HeadDim / kEdge);

    /// Where key `key` of 32 lies in V.
    static constexpr unsigned source(unsigned block, unsigned lane, unsigned key)
    {
        return elementOffset(Keys, block % kKeyBlocks * kEdge + key, block / kKeyBlocks * kEdge + lane);
    }
    /// Where chunk `chunk` of eight goes in the transposed: the elements of keys keyOfColumn(4 chunk) on.
    static constexpr unsigned target(unsigned block, unsigned lane, unsigned chunk)
    {
        return chunkOffset(HeadDim, block / kKeyBlocks * kEdge + lane,
                           block % kKeyBlocks * kChunksPerRow + chunk);
    }
};

} // namespace tilescope::kernels::hopper
