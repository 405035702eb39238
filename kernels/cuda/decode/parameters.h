#pragma once

#include "kernels/cuda/common/key_split.h"
#include "kernels/cuda/mma/parameters.h"
#include "kernels/include/generation.h"

#include <array>

namespace tilescope::kernels {

/// How CTAs share a multiprocessor. Two CTAs hide the beginnings and ends of each other's items. A wide CTA
/// reads tiles of twice the size and leaves half as many parts to combine.
enum class DecodeCtas : unsigned char { Two, OneWide };

constexpr int decodeWarps(DecodeCtas ctas)
{
    return ctas == DecodeCtas::Two ? 4 : 8;
}

/// Parameters of the decode kernels, passed by value (see mma/parameters.h).
struct DecodeParameters {
    KernelShape shape;
    ConstView q, k, v;
    MutableView o;
    float* logSumExp;
    float* workspace;        ///< parts of items (DecodePart), or null if no item is split
    unsigned* finishedParts; ///< one per CTA: see nextDecodeCounters()
    KeySplit split{};
    PagedKeys paged{}; ///< where the rows of k and v are; without pages, one after another
    /// OneWide: up to kMostWideRows rows, on devices with Hopper's shared memory.
    DecodeCtas ctas = DecodeCtas::Two;
};

/// Head dims of the kernels. Others are padded with zeros to the next, in shared memory only.
inline constexpr int kDecodeHeadDims[] = {64, 128};
/// Query rows of a key head that a CTA computes at most.
inline constexpr int kMostDecodeRows = 64;
inline constexpr int kMostWideRows = 16; ///< maximum number of rows of a wide CTA
inline constexpr int kSharedBytesOfHopper = 227 * 1024;

/// Keys of a tile: 4 KB of keys for each warp, and as much of values.
constexpr int decodeTileKeys(int headDim, DecodeCtas ctas)
{
    return decodeWarps(ctas) * 2048 / headDim;
}

/// Floats of the workspace for each row of a part: sums, offset, sum of exponentials, and padding to 16 bytes.
constexpr int decodePartFloats(int headDim)
{
    return headDim + 4;
}

using DecodeLauncher = cudaError_t (*)(const DecodeParameters&, cudaStream_t);
using DecodeLaunchers = std::array<DecodeLauncher, std::size(kDecodeHeadDims)>;
extern const DecodeLaunchers kDecodeBf16, kDecodeFp16;

} // namespace tilescope::kernels
