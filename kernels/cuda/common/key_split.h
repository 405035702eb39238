#pragma once

#include "kernels/cuda/common/tile_order.h"

#include <algorithm>
#include <cstdint>

namespace tilescope::kernels {

/// Divides the key tiles of all items among CTAs. Items are queries that share keys; all have the same number of tiles.
///
/// Tiles are numbered item by item, and each CTA takes a consecutive range of numbers. If the load is then almost
/// balanced, an item has several CTAs of its own, or a CTA several whole items, because parts of items cost
/// time to combine. Otherwise all CTAs share all tiles, and take the end of one item, whole items and the beginning of
/// another (as in Stream-K, Osama et al. 2023, arXiv:2301.03598). In any case the parts of an item belong to
/// consecutive CTAs.
struct KeySplit {
    int tilesPerItem;
    int ctas;
    int groupCtas;           ///< CTAs that divide consecutive items among themselves
    int rest;                ///< the first `rest` CTAs take one tile more than the others
    std::int64_t base;       ///< number of tiles of the other CTAs; at least 1
    std::int64_t groupTiles; ///< number of tiles of the items of a group
    std::int64_t tiles;      ///< number of tiles of all items; the last group may have fewer than groupTiles

    /// \param items, tilesPerItem  at least 1
    /// \param mostCtas             limit of the number of CTAs
    /// \param leastTiles           tiles for which another CTA is worthwhile
    static KeySplit make(std::int64_t items, int tilesPerItem, int mostCtas, int leastTiles)
    {
        const std::int64_t tiles = items * tilesPerItem;
        const std::int64_t least = std::min(leastTiles, tilesPerItem);
        const std::int64_t most = std::clamp<std::int64_t>(tiles / least, 1, mostCtas);
        const auto quotient = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        // Whether CTAs with this many tiles finish almost as early as if all had the same number.
        const auto balanced = [&](std::int64_t longest) { return 7 * longest <= 8 * quotient(tiles, most); };
        if (items <= most) {
            const std::int64_t perItem = std::min<std::int64_t>(most / items, tilesPerItem);
            if (balanced(quotient(tilesPerItem, perItem))) {
                return of(tiles, tilesPerItem, perItem, 1, items * perItem);
            }
        } else {
            const std::int64_t perCta = quotient(items, most);
            if (balanced(perCta * tilesPerItem)) {
                return of(tiles, tilesPerItem, 1, perCta, quotient(items, perCta));
            }
        }
        return of(tiles, tilesPerItem, most, items, most);
    }

    /// CTA `cta` takes tiles [first(cta), first(cta + 1)).
    TILESCOPE_HOST_DEVICE std::int64_t first(int cta) const
    {
        const int within = cta % groupCtas;
        const std::int64_t tile =
            cta / groupCtas * groupTiles + within * base + (within < rest ? within : rest);
        return tile < tiles ? tile : tiles;
    }

    TILESCOPE_HOST_DEVICE int ctaOf(std::int64_t tile) const
    {
        const std::int64_t group = tile / groupTiles;
        const std::int64_t within = tile - group * groupTiles;
        const std::int64_t longer = rest * (base + 1);
        const std::int64_t cta = within < longer ? within / (base + 1) : rest + (within - longer) / base;
        return static_cast<int>(group * groupCtas + cta);
    }

    TILESCOPE_HOST_DEVICE int firstCtaOf(std::int64_t item) const { return ctaOf(item * tilesPerItem); }
    TILESCOPE_HOST_DEVICE int lastCtaOf(std::int64_t item) const
    {
        return ctaOf((item + 1) * tilesPerItem - 1);
    }

    /// Whether any item has several CTAs.
    bool splitsItems() const { return groupCtas > 1 && (rest != 0 || base % tilesPerItem != 0); }

    /// A CTA shares at most two items with other CTAs: it has the end of one item and the beginning of another.
    static constexpr int kPartsPerCta = 2;
    /// Number of the part of an item that CTA `cta` computes; `begins` if it has the item's first tile.
    static TILESCOPE_HOST_DEVICE std::int64_t part(int cta, bool begins)
    {
        return std::int64_t{cta} * kPartsPerCta + (begins ? 1 : 0);
    }

private:
    static KeySplit of(std::int64_t tiles, int tilesPerItem, std::int64_t groupCtas, std::int64_t groupItems,
                       std::int64_t ctas)
    {
        const std::int64_t groupTiles = groupItems * tilesPerItem;
        return {tilesPerItem,
                static_cast<int>(ctas),
                static_cast<int>(groupCtas),
                static_cast<int>(groupTiles % groupCtas),
                groupTiles / groupCtas,
                groupTiles,
                tiles};
    }
};

} // namespace tilescope::kernels
