#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__
#define TILESCOPE_HOST_DEVICE __host__ __device__
#else
#define TILESCOPE_HOST_DEVICE
#endif

namespace tilescope::kernels {

struct TileCoordinate {
    int queryTile;
    int head;
    int batch;
};

/// The order in which CTAs process tiles (query tile, head, batch).
///
/// Without a mask all tiles take the same time. The tiles of a head are consecutive, so that they share its k
/// and v in L2. With a causal mask the last query tile sees all keys and the first one few. Heads then form
/// groups whose k and v fit in L2, and within a group the longest tiles come first.
struct TileOrder {
    int tiles;      ///< total
    int queryTiles; ///< per head
    int heads;
    int pairs;      ///< heads x batch
    int groupPairs; ///< 0: no mask

    /// \param cacheBytes  size of a group's k and v; the rest of L2 (50 MB) is for q and o
    static TileOrder make(int queryTiles, int heads, int batch, bool causal, std::int64_t bytesPerHead,
                          std::int64_t cacheBytes = 32 << 20)
    {
        const int pairs = heads * batch;
        const int fitting = static_cast<int>(std::clamp<std::int64_t>(cacheBytes / bytesPerHead, 1, pairs));
        return {queryTiles * pairs, queryTiles, heads, pairs, causal ? fitting : 0};
    }

    TILESCOPE_HOST_DEVICE TileCoordinate position(int tile) const
    {
        if (groupPairs == 0)
            return at(tile / queryTiles, tile % queryTiles);
        const int groupTiles = groupPairs * queryTiles;
        const int group = tile / groupTiles;
        const int within = tile % groupTiles;
        const int left = pairs - group * groupPairs;
        const int members = left < groupPairs ? left : groupPairs;
        return at(group * groupPairs + within % members, queryTiles - 1 - within / members);
    }

private:
    TILESCOPE_HOST_DEVICE TileCoordinate at(int pair, int queryTile) const
    {
        return {queryTile, pair % heads, pair / heads};
    }
};

} // namespace tilescope::kernels
