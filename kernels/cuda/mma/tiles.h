#pragma once

/// Tile sizes of the mma.sync kernels by arithmetic and padded head dim.
namespace tilescope::kernels {

/// Head dims of the kernels. Others are padded with zeros to the next, in shared memory only.
#ifdef TILESCOPE_SMALL_KERNEL_SET
inline constexpr int kMmaHeadDims[] = {64, 128};
#else
inline constexpr int kMmaHeadDims[] = {32, 64, 96, 128, 256};
#endif

/// How elements are multiplied, which determines their size in shared memory and registers.
enum class Arithmetic : unsigned char {
    SixteenBit,
    Tf32, ///< 4 bytes per element
    Fp32  ///< 6 bytes per element: three bf16 parts
};

/// Usual; Few: for few rows, where usual blocks leave multiprocessors idle; Compact: for kMinSharedBytes.
enum class TileSize : unsigned char { Usual, Few, Compact };

struct MmaForwardTile {
    int warps;
    int fragments; ///< 16-row fragments of queries per warp
    int keys;
    int keyGroups = 1; ///< warps that share queries and divide the keys
    constexpr int queries() const { return warps / keyGroups * fragments * 16; }
};

/// With two fragments, a warp uses each fragment of K and V twice. At head dim 256 the output alone takes 128
/// registers, which allows one fragment. In fp32 eight warps share the splitting of K and V, whose parts fill
/// shared memory. The number of keys is the largest that fits beside the queries.
constexpr MmaForwardTile mmaForwardTile(Arithmetic arithmetic, int headDim, TileSize size)
{
    if (arithmetic == Arithmetic::Fp32) {
        if (headDim == 256) {
            return size == TileSize::Usual ? MmaForwardTile{4, 1, 32} : MmaForwardTile{2, 1, 16};
        }
        if (size == TileSize::Few) {
            return {8, 1, 64, 4};
        }
        return size == TileSize::Usual
                   ? MmaForwardTile{8, 1, 64}
                   : MmaForwardTile{4, 1, headDim == 128 ? 32 : (headDim == 96 ? 48 : 64)};
    }
    if (headDim == 256) {
        return {4, 1, arithmetic == Arithmetic::SixteenBit ? 64 : 16};
    }
    const int fragments = size == TileSize::Few && arithmetic == Arithmetic::Tf32 ? 1 : 2;
    if (arithmetic == Arithmetic::Tf32 && headDim >= 96) {
        return {4, fragments, headDim == 128 ? 32 : 48};
    }
    return {4, fragments, 64};
}

struct MmaBackwardTile {
    int warps;
    int queries;
    int outputSplit; ///< thread blocks that divide the columns of the gradients
    int queryGroups; ///< warps that share 16 keys and divide the queries
    constexpr int keys() const { return warps / queryGroups * 16; }
    constexpr bool operator==(const MmaBackwardTile&) const = default;
};

/// More keys per block mean fewer passes over the queries and fewer additions to their gradient. A warp keeps
/// the gradients of its 16 keys and values in 2 * 16 * headDim / 32 registers. At head dim 256 two blocks
/// divide the columns, and each computes all scores. Few keys are divided among twice as many blocks: in fp32
/// at head dim 128 four warps share 16 keys and divide twice as many queries.
constexpr MmaBackwardTile mmaBackwardTile(Arithmetic arithmetic, int headDim, TileSize size)
{
    if (size == TileSize::Few && arithmetic == Arithmetic::Fp32 && headDim == 128) {
        return {8, 64, 1, 4};
    }
    const bool halvesKeys = arithmetic != Arithmetic::SixteenBit && headDim == 64;
    const bool small = size == TileSize::Compact || (size == TileSize::Few && halvesKeys);
    if (arithmetic == Arithmetic::Fp32) {
        if (headDim == 256) {
            return small ? MmaBackwardTile{1, 16, 2, 1} : MmaBackwardTile{4, 32, 2, 2};
        }
        if (headDim == 128) {
            return small ? MmaBackwardTile{2, 16, 1, 1} : MmaBackwardTile{8, 32, 1, 2};
        }
        if (headDim == 96) {
            return small ? MmaBackwardTile{4, 32, 1, 2} : MmaBackwardTile{8, 64, 1, 2};
        }
        if (small) {
            return headDim == 64 ? MmaBackwardTile{8, 32, 1, 2} : MmaBackwardTile{4, 32, 1, 1};
        }
        return {8, 64, 1, 1};
    }
    const bool twoBytes = arithmetic == Arithmetic::SixteenBit;
    if (headDim == 256) {
        if (small) {
            return twoBytes ? MmaBackwardTile{4, 16, 2, 1} : MmaBackwardTile{1, 16, 2, 1};
        }
        return twoBytes ? MmaBackwardTile{4, 32, 2, 1} : MmaBackwardTile{2, 16, 2, 1};
    }
    if (headDim == 128 && small) {
        return twoBytes ? MmaBackwardTile{8, 32, 1, 1} : MmaBackwardTile{4, 16, 1, 1};
    }
    if (!twoBytes && (headDim >= 96 || (headDim == 64 && small))) {
        return {4, 32, 1, 1};
    }
    return {8, 64, 1, 1};
}

} // namespace tilescope::kernels
