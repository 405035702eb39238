#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

namespace tilescope::kernels::hopper {

constexpr int kFp8QueryBlock = 16; ///< rows of q with a common scale: a warp's
constexpr int kFp8KeyTile = 128;   ///< rows of k, and of v, with a common scale: a tile's

/// Shape of an FP8 tile. Rows of q and k have one panel of 128 bytes (at head dim 64, TMA fills the rest with
/// zeros). Rows of o, in bf16, have up to two.
template <int HeadDim_, int Consumers> struct Fp8Tile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = Consumers;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = kFp8KeyTile;
    static constexpr int panelColumns = kRowBytes;
    static constexpr int panels = 1;
    static constexpr int stages = 4;
    static constexpr int threads = (consumers + 1) * kWarpgroup;
    static constexpr int producerRegisters = consumers == 3 ? 32 : 40;
    static constexpr int consumerRegisters = consumers == 3 ? 160 : 232;
    static constexpr int outputPanelColumns = kPanelColumns;
    static constexpr int outputPanels = headDim / kPanelColumns;
    static constexpr int queryBytes = queries * kRowBytes;
    static constexpr int queryStageBytes = queries * outputPanels * kRowBytes; ///< o takes more than q
    static constexpr int keyBytes = keys * kRowBytes;
    static constexpr int valueBytes = headDim * kRowBytes; ///< V transposed: rows are columns of V
    static constexpr bool valuesTransposed = true;
    static constexpr bool skipsHidden = consumers == 2;
    static constexpr int queryStages =
        std::min(3, (226 * 1024 - stages * (keyBytes + valueBytes)) / queryStageBytes);
    static_assert(headDim % kPanelColumns == 0 && headDim <= kRowBytes);
};

/// Scales of a tile of keys and of its values.
struct Fp8KeyTileScales {
    float key;
    float value; ///< a power of two
};

struct Fp8Arguments : ForwardArguments {
    const float* queryScales;          ///< (batch, query heads, queryBlocks)
    const Fp8KeyTileScales* keyScales; ///< (batch, key heads, keyTiles)
    int keyHeads;
    int queryBlocks;
    int keyTiles;
};

} // namespace tilescope::kernels::hopper
