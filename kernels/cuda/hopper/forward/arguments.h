#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

#include <numeric>

/// The arguments of the forward kernels, made from a problem.
namespace tilescope::kernels::hopper {

/// Query heads of one key head that share a tile, so that k and v are loaded once for all of them. A warp's
/// rows must belong to one head.
template <class Tile> int packedHeads(const AttentionShape& shape)
{
    for (const int heads : {8, 4, 2})
        if (shape.queryHeads / shape.keyHeads % heads == 0 && Tile::queries / heads % 16 == 0)
            return heads;
    return 1;
}

/// Rows of o that one consumer stores at a time.
template <class Tile> constexpr int rowsPerStore(int packedHeads)
{
    return std::gcd(Tile::queries / packedHeads, kRowsPerConsumer);
}

/// All arguments except the scheduler.
template <class Tile>
ForwardArguments forwardArguments(const AttentionProblem& problem, const ForwardTensors& tensors)
{
    const AttentionShape& shape = problem.shape;
    const int packed = packedHeads<Tile>(shape);
    const int rowsPerHead = Tile::queries / packed;
    const std::int64_t elementBytes = problem.type == ElementType::Float32 ? 4 : 2;
    constexpr double kLog2E = 1.4426950408889634;
    const int queryTiles = static_cast<int>((shape.queries + rowsPerHead - 1) / rowsPerHead);
    const int tileHeads = static_cast<int>(shape.queryHeads / packed);
    const std::int64_t bytesPerHead = 2 * elementBytes * shape.keys * shape.headDim; // k and v
    // With few queries, q and o take as much of the cache as k and v, and smaller groups are faster. A launch
    // of few tiles must not use small groups, because the end of each group leaves CTAs idle.
    const bool smallGroups = queryTiles <= 16 && queryTiles * tileHeads * shape.batch >= 1024;
    return {
        .order = TileOrder::make(queryTiles, tileHeads, static_cast<int>(shape.batch), problem.causal,
                                 bytesPerHead, std::int64_t{smallGroups ? 16 : 32} << 20),
        .mask = {static_cast<int>(shape.queries), static_cast<int>(shape.keys), problem.causal},
        .scaleLog2 = static_cast<float>(problem.scale * kLog2E),
        .queryHeads = static_cast<int>(shape.queryHeads),
        .packedHeads = packed,
        .rowsPerHead = rowsPerHead,
        .rowsPerStore = rowsPerStore<Tile>(packed),
        .tilesPerKeyHead = static_cast<int>(shape.queryHeads / shape.keyHeads / packed),
        .keys = tensors.k,
        .headDim = shape.headDim,
        .logSumExp = static_cast<float*>(tensors.logSumExp),
        .scheduler = nullptr,
    };
}

/// Number of persistent CTAs: one per multiprocessor.
///
/// A CTA keeps the o of one tile in a stage of q while it waits for the next tile, and writes the zeros of
/// tiles whose rows see no key at once. After as many such tiles as there are stages it would wait for the
/// stage that it occupies itself. So if there are such tiles (causal, many more queries than keys), each tile
/// has its own CTA.
inline int forwardCtas(const ForwardArguments& arguments, int multiprocessors)
{
    const bool hasEmptyTiles = arguments.mask.keysSeenBy(arguments.rowsPerHead - 1) == 0;
    return hasEmptyTiles ? arguments.order.tiles : std::min(arguments.order.tiles, multiprocessors);
}

} // namespace tilescope::kernels::hopper
