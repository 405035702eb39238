#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

#include <numeric>

/// What the forward kernels are told of a problem.
namespace tilescope::kernels::hopper {

/// Query heads of one key head that share a tile, so that k and v are loaded once for all: as many as leave
/// each warp one head.
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

/// All but the tickets.
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
    // Short rows pass as much of q and o through the cache as of k and v, and gain from smaller groups; but
    // few tiles must not be dealt in groups, whose ends leave CTAs idle.
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
        .tickets = nullptr,
    };
}

/// How many CTAs share the tiles: one a multiprocessor, which go from tile to tile. Such a CTA holds the o of
/// one tile while it asks for the next. Tiles none of whose rows sees a key are written on the way, and when
/// as many of them came as there are places for q, the place of that o would be waited for: where there are
/// such tiles (causal, many more queries than keys), every tile has a CTA of its own.
inline int forwardCtas(const ForwardArguments& arguments, int multiprocessors)
{
    const bool blind = arguments.mask.keysSeenBy(arguments.rowsPerHead - 1) == 0;
    return blind ? arguments.order.tiles : std::min(arguments.order.tiles, multiprocessors);
}

} // namespace tilescope::kernels::hopper
