#pragma once

/// Tile sizes of the mma.sync kernels, by bytes of an element and (padded) head dim.
namespace tilescope::kernels {

/// Head dims that kernels are made for; others are padded with zeros to the next, in shared memory only.
#ifdef TILESCOPE_SMALL_KERNEL_SET
inline constexpr int kMmaHeadDims[] = {64, 128};
#else
inline constexpr int kMmaHeadDims[] = {32, 64, 96, 128, 256};
#endif

struct MmaForwardTile {
    int warps;
    int fragments; ///< 16-row fragments of queries a warp
    int keys;
    constexpr int queries() const { return warps * fragments * 16; }
};

/// Two fragments a warp use each fragment of K and V twice; at head dim 256 the output alone takes 128
/// registers, and one must do. Keys: as many as fit in 99 KiB (kLeastSharedBytes) beside the queries.
/// \param fragments  fewer than two where there are few rows
constexpr MmaForwardTile mmaForwardTile(int elementBytes, int headDim, int fragments = 2)
{
    if (headDim == 256) {
        return {4, 1, elementBytes == 2 ? 64 : 16};
    }
    if (elementBytes == 4 && headDim == 128) {
        return {4, fragments, 32};
    }
    if (elementBytes == 4 && headDim == 96) {
        return {4, fragments, 48};
    }
    return {4, fragments, 64};
}

/// What a thread block has on the devices that have least (compute capability 8.6, 8.9 and 12.0).
inline constexpr int kLeastSharedBytes = 99 * 1024;

struct MmaBackwardTile {
    int warps; ///< 16 keys each
    int queries;
    int outputSplit; ///< thread blocks that share the columns of the gradients
    constexpr int keys() const { return warps * 16; }
};

/// More keys a block mean fewer passes over the queries and fewer additions to their gradient. A warp keeps
/// the gradients of its 16 keys and values in registers, 2 * 16 * headDim / 32 of them: at head dim 256 two
/// blocks share the columns, and each computes all scores.
/// \param compact  for devices with kLeastSharedBytes
constexpr MmaBackwardTile mmaBackwardTile(int elementBytes, int headDim, bool compact)
{
    if (headDim == 256) {
        if (compact) {
            return elementBytes == 2 ? MmaBackwardTile{4, 16, 2} : MmaBackwardTile{1, 16, 2};
        }
        return elementBytes == 2 ? MmaBackwardTile{4, 32, 2} : MmaBackwardTile{2, 16, 2};
    }
    if (headDim == 128 && compact) {
        return elementBytes == 2 ? MmaBackwardTile{8, 32, 1} : MmaBackwardTile{4, 16, 1};
    }
    if (elementBytes == 4 && (headDim >= 96 || (headDim == 64 && compact))) {
        return {4, 32, 1};
    }
    return {8, 64, 1};
}

} // namespace tilescope::kernels
