#pragma once

#include "kernels/cuda/common/key_split.h"
#include "kernels/cuda/mma/parameters.h"

#include <array>

namespace tilescope::kernels {

/// Parameters of the decode kernels, passed by value (see mma/parameters.h).
struct DecodeParameters {
    KernelShape shape;
    ConstView q, k, v;
    MutableView o;
    float* logSumExp;
    float* workspace;        ///< parts of items (DecodePart), or null if no item is split
    unsigned* finishedParts; ///< one per CTA: see nextDecodeCounters()
    KeySplit split{};        ///< launchers fill it in
};

/// Head dims of the kernels. Others are padded with zeros to the next, in shared memory only.
inline constexpr int kDecodeHeadDims[] = {64, 128};
/// Query rows of a key head that a CTA computes at most.
inline constexpr int kMostDecodeRows = 64;

/// Keys of a tile: 16 KB of keys and as much of values.
constexpr int decodeTileKeys(int headDim)
{
    return 8192 / headDim;
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
