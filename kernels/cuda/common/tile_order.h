#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__
#define TILESCOPE_HOST_DEVICE __host__ __device__
#else
#define TILESCOPE_HOST_DEVICE
#endif

namespace tilescope::kernels {

struct TilePosition {
    int queryTile;
    int head;
    int batch;
};

/// In which order tiles (query tile, head, batch) are handed out: to the CTAs that stay on the device, or
/// block by block.
///
/// Without a mask all tiles cost the same: those of one head come together, so that they share its k and v in
/// L2. With a causal mask the last query tile sees all keys and the first one few: heads are taken in groups
/// whose k and v fit in L2, and within a group the longest tiles come first.
struct TileOrder {
    int tiles;      ///< in all
    int queryTiles; ///< of a head
    int heads;
    int pairs;      ///< heads x batch
    int groupPairs; ///< 0: no mask

    /// \param cacheBytes  of k and v that a group may have, of the 50 MB: the rest is for q and o passing
    /// through
    static TileOrder make(int queryTiles, int heads, int batch, bool causal, std::int64_t bytesPerHead,
                          std::int64_t cacheBytes = 32 << 20)
    {
        const int pairs = heads * batch;
        const int fitting = static_cast<int>(std::clamp<std::int64_t>(cacheBytes / bytesPerHead, 1, pairs));
        return {queryTiles * pairs, queryTiles, heads, pairs, causal ? fitting : 0};
    }

    TILESCOPE_HOST_DEVICE TilePosition position(int tile) const
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
    TILESCOPE_HOST_DEVICE TilePosition at(int pair, int queryTile) const
    {
        return {queryTile, pair % heads, pair / heads};
    }
};

} // namespace tilescope::kernels
