#pragma once

#include "kernels/cuda/common/tile_order.h"
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/tile_scheduler.h"
#include "kernels/include/attention.h"
#include "kernels/include/mask.h"

#include <algorithm>

/// What producers and consumers of the forward kernel share: a tile's shape, its memory, the arguments.
namespace tilescope::kernels::hopper {

/// Shape of a tile. forward() chooses one; kernels/NOTES.md has what was measured.
template <int HeadDim_, int Consumers, int Keys> struct ForwardTile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = Consumers;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = Keys;
    static constexpr int panelColumns = kPanelColumns;
    static constexpr int panels = (headDim + panelColumns - 1) / panelColumns;
    static constexpr int stages = panels == 1 ? 4 : 2; ///< of k and v: as many as fit, for short rows
    static constexpr int threads = (consumers + 1) * kWarpgroup;
    static constexpr int producerRegisters = consumers == 3 ? 32 : (headDim <= 128 ? 40 : 24);
    static constexpr int consumerRegisters = consumers == 3 ? 160 : (headDim <= 128 ? 232 : 240);
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = keys * panels * kRowBytes;
    /// Whether exponentials of hidden scores are left out; three consumers have no registers for that.
    static constexpr bool skipsHidden = consumers == 2 && keys <= 128 && headDim <= 128;
    /// What is left of 226 KB; with one, a tile ends before the next begins.
    static constexpr int queryStages = std::min(3, (226 * 1024 - 2 * stages * keyBytes) / queryBytes);
};

/// A query tile on its way from producer to consumers.
struct Place {
    TilePosition at;
    int keyTiles; ///< that some row of it sees; kNoTile after the last
};
constexpr int kNoTile = -1;

template <class Tile> struct ForwardMemory {
    // o leaves through query's place.
    alignas(1024) unsigned char query[Tile::queryStages][Tile::queryBytes];
    alignas(1024) unsigned char key[Tile::stages][Tile::keyBytes];
    alignas(1024) unsigned char value[Tile::stages][Tile::keyBytes];
    alignas(16) Place place[Tile::queryStages]; // of the tile that lies in query
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
    int rowsPerStore;    ///< of o: they belong to one head and one consumer
    int tilesPerKeyHead; ///< such groups of query heads that share a key head
    ConstView keys;      ///< for the few tiles that are multiplied again
    int headDim;
    float* logSumExp;
    TileTickets* tickets;
};

} // namespace tilescope::kernels::hopper
