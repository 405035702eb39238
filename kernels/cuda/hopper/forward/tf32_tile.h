#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

namespace tilescope::kernels::hopper {

/// Shape of a TF32 tile. Two consumers, so that one's softmax overlaps with the other's products, which take
/// twice as long as in bf16. The number of keys is the largest for which two stages of K and of the
/// transposed V, one of V as TMA delivers it, and at least one of Q fit in 226 KB.
template <int HeadDim_, int Keys> struct Tf32Tile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = 2;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = Keys;
    static constexpr int panelColumns = kTf32Columns;
    static constexpr int panels = headDim / panelColumns;
    static constexpr int stages = 2;
    static constexpr int threads = (consumers + 2) * kWarpgroup; ///< one loads, one transposes
    static constexpr int loaderRegisters = 32;
    static constexpr int transposerRegisters = 80; ///< two columns of 32 keys
    static constexpr int consumerRegisters = 200;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int queryStageBytes = queryBytes;
    static constexpr int keyBytes = keys * panels * kRowBytes; ///< the transposed tile has as many
    static constexpr int valueBytes = keyBytes;
    static constexpr bool valuesTransposed = false; ///< in global memory
    static constexpr int outputPanelColumns = panelColumns;
    static constexpr int outputPanels = panels;
    static constexpr bool skipsHidden = false;
    static constexpr int queryStages = std::min(3, (226 * 1024 - (2 * stages + 1) * keyBytes) / queryBytes);
    static_assert(headDim % panelColumns == 0 && queryStages > 0);
};

/// `value` holds V transposed.
template <class Tile> struct Tf32Memory : ForwardMemory<Tile> {
    alignas(1024) unsigned char delivered[1][Tile::keyBytes]; // V as TMA delivers it
    Barrier deliveredFull[1], deliveredEmpty[1];
};

} // namespace tilescope::kernels::hopper
