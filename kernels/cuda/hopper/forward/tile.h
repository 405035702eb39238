#pragma once

#include "kernels/cuda/common/tile_order.h"
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/tile_scheduler.h"
#include "kernels/include/attention.h"
#include "kernels/include/mask.h"

#include <algorithm>

/// A tile's shape and shared memory, and the arguments of the forward kernels.
namespace tilescope::kernels::hopper {

/// Shape of a tile. forward() chooses one; kernels/NOTES.md contains the measurements.
template <int HeadDim_, int Consumers, int Keys> struct ForwardTile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = Consumers;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = Keys;
    static constexpr int panelColumns = kPanelColumns;
    static constexpr int panels = (headDim + panelColumns - 1) / panelColumns;
    static constexpr int stages = panels == 1 ? 4 : 2; ///< of k and v: as many as fit
    static constexpr int threads = (consumers + 1) * kWarpgroup;
    static constexpr int producerRegisters = consumers == 3 ? 32 : (headDim <= 128 ? 40 : 24);
    static constexpr int consumerRegisters = consumers == 3 ? 160 : (headDim <= 128 ? 232 : 240);
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int queryStageBytes = queryBytes; ///< o takes as much as q
    static constexpr int keyBytes = keys * panels * kRowBytes;
    static constexpr int valueBytes = keyBytes;
    static constexpr bool valuesTransposed = false; ///< in global memory
    static constexpr int outputPanelColumns = panelColumns;
    static constexpr int outputPanels = panels;
    /// Whether exponentials of hidden scores are skipped. Three consumers have no registers for this.
    static constexpr bool skipsHidden = consumers == 2 && keys <= 128 && headDim <= 128;
    /// As many as fit in 226 KB. With one, a tile ends before the next begins.
    static constexpr int queryStages = std::min(3, (226 * 1024 - 2 * stages * keyBytes) / queryBytes);
};

/// A tile that the producer publishes to the consumers.
struct WorkTile {
    TileCoordinate at;
    int keyTiles; ///< number of key tiles that any row sees; kNoTile after the last tile
};
constexpr int kNoTile = -1;

template <class Tile> struct ForwardMemory {
    // o is stored from the stage of its q.
    alignas(1024) unsigned char query[Tile::queryStages][Tile::queryStageBytes];
    alignas(1024) unsigned char key[Tile::stages][Tile::keyBytes];
    alignas(1024) unsigned char value[Tile::stages][Tile::valueBytes];
    alignas(16) WorkTile workTile[Tile::queryStages]; // the tile in each stage of query
    Barrier queryFull[Tile::queryStages], queryEmpty[Tile::queryStages];
    Barrier keyFull[Tile::stages], keyEmpty[Tile::stages];
    Barrier valueFull[Tile::stages], valueEmpty[Tile::stages];
};

struct ForwardArguments {
    TileOrder order;
    MaskPolicy<int> mask;
    float scaleLog2; ///< scale * log2(e): the softmax works in powers of two
    int queryHeads;
    int packedHeads;     ///< query heads of one key head that share a tile
    int rowsPerHead;     ///< of a tile: Tile::queries / packedHeads
    int rowsPerStore;    ///< rows of o per TMA store, of one head and one consumer
    int tilesPerKeyHead; ///< groups of packedHeads query heads per key head
    ConstView keys;      ///< for the few tiles whose scores are computed again
    int headDim;
    float* logSumExp;
    TileScheduler* scheduler;
};

} // namespace tilescope::kernels::hopper
