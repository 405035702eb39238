#pragma once

#include "kernels/cuda/hopper/backward/tile.h"

namespace tilescope::kernels::hopper {

/// Tile sizes of the TF32 backward kernel by head dim. Of 227 KB of shared memory, K and K^T take 8 d bytes
/// per key, P and dS 32 KB, and each stage of q and gradO, or of their transposed tiles, 512 d bytes.
struct Tf32BackwardShape {
    int keys;       ///< of a tile: 64 per consumer, or shared by both
    int delivered;  ///< stages of q, and of gradO, as TMA delivers them
    int transposed; ///< stages of the transposed q, and of gradO
};

constexpr Tf32BackwardShape tf32BackwardShape(int headDim)
{
    if (headDim <= 64)
        return {128, 2, 2}; // 224 KB at 64; both gradients and v of 64 keys take 96 of 224 registers
    if (headDim <= 96)
        return {64, 2,
                1};    // 224 KB; two stages for the loads from global memory, which have the longer latency
    return {64, 1, 1}; // 224 KB
}

/// Tile of the TF32 backward kernel.
template <int HeadDim> struct Tf32BackwardTile {
    static constexpr int headDim = HeadDim;
    static constexpr int keys = tf32BackwardShape(HeadDim).keys;
    static constexpr bool sharesKeys = keys == kRowsPerConsumer;
    static constexpr int queries = backwardQueries(ElementType::Float32, HeadDim);
    static constexpr int panelColumns = kTf32Columns;
    static constexpr int panels = headDim / panelColumns;
    static constexpr int stages = tf32BackwardShape(HeadDim).delivered;
    static constexpr int transposedStages = tf32BackwardShape(HeadDim).transposed;
    static constexpr int rowStages = 2 * stages; ///< of log-sum-exp and delta, which are used longer
    static constexpr int readers = sharesKeys ? 1 : kBackwardConsumers; ///< consumers that read a tile
    static constexpr int threads = (2 + kBackwardConsumers) * kWarpgroup;
    // 24 + 40 + 2 x 224 = 4 x 128, the initial registers of four warpgroups.
    static constexpr int loaderRegisters = 24;
    static constexpr int transposerRegisters = 40;
    static constexpr int consumerRegisters = 224;
    static constexpr int keyBytes = keys * panels * kRowBytes; ///< the transposed tile has as many
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int scoreBytes = kRowsPerConsumer * queries * 4;
    static_assert(headDim % panelColumns == 0 && keyBytes <= 2 * scoreBytes && queries == 64);
};

/// Position in a ring of `Stages`, and in one of twice as many stages for data that is used longer.
template <int Stages> struct StepRing {
    int longer = 0;
    __device__ int stage() const { return longer % Stages; }
    __device__ std::uint32_t parity() const { return longer / Stages; }
    __device__ void advance()
    {
        if (++longer == 2 * Stages)
            longer = 0;
    }
};

template <class Tile> struct Tf32BackwardMemory {
    alignas(1024) unsigned char key[Tile::keyBytes];
    alignas(1024) unsigned char keyTransposed[Tile::keyBytes]; // keys in the order of keyOfScoreColumn()
    alignas(1024) unsigned char query[Tile::stages][Tile::queryBytes];
    alignas(1024) unsigned char gradO[Tile::stages][Tile::queryBytes];
    // Queries in the order of keyOfColumn().
    alignas(1024) unsigned char queryTransposed[Tile::transposedStages][Tile::queryBytes];
    alignas(1024) unsigned char gradOTransposed[Tile::transposedStages][Tile::queryBytes];
    // dS of each consumer: panels of 32 keys, rows of queries. If both share keys: P^T, thread by thread, and
    // dS. Before that, v of the tile, which consumers load into registers.
    alignas(1024) unsigned char scores[2][Tile::scoreBytes];
    alignas(16) float logSumExp2[Tile::rowStages][Tile::queries];
    alignas(16) float delta[Tile::rowStages][Tile::queries];
    BackwardWorkTile workTile[kWorkTileStages];
    Barrier workTileFull[kWorkTileStages], workTileEmpty[kWorkTileStages];
    Barrier tileLoaded; // the loads of the tile's last q and gradO are issued
    Barrier keyFull, keyTransposedFull, valueFull;
    Barrier keyEmpty; // k, K^T, and P and dS, which v overwrites, are no longer read
    Barrier queryFull[Tile::stages], queryEmpty[Tile::stages];
    Barrier gradFull[Tile::stages], gradEmpty[Tile::stages];
    Barrier queryTransposedFull[Tile::transposedStages], queryTransposedEmpty[Tile::transposedStages];
    Barrier gradTransposedFull[Tile::transposedStages], gradTransposedEmpty[Tile::transposedStages];
};

struct Tf32BackwardMaps {
    CUtensorMap query, key, value, gradO;
};

struct Tf32BackwardArguments : BackwardArguments {
    MutableView gradKey, gradValue;
};

/// All arguments except the scheduler.
template <class Tile>
Tf32BackwardArguments tf32BackwardArguments(const AttentionProblem& problem, const BackwardTensors& tensors,
                                            const BackwardWorkspace& workspace)
{
    Tf32BackwardArguments arguments{
        backwardArguments<Tile>(problem, workspace, std::int64_t{32} << 20), {}, {}};
    arguments.gradKey = tensors.gradK;
    arguments.gradValue = tensors.gradV;
    return arguments;
}

/// Number of query tiles that see a tile of keys, in all heads of its group. At least one, because the last
/// query of a head sees every key.
__device__ inline int stepsOf(const BackwardArguments& arguments, const BackwardWorkTile& workTile)
{
    return arguments.queryHeadsPerKeyHead * (arguments.queryTiles - workTile.firstQueryTile);
}

/// Named barrier: v is in registers, and P or dS may overwrite it.
constexpr int kValuesLoaded = 1;

} // namespace tilescope::kernels::hopper
