#include "kernels/cuda/common/key_split.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace tilescope::kernels {
namespace {

struct Sizes {
    std::int64_t items;
    int tilesPerItem;
    int mostCtas;
    int leastTiles;
};

class Split : public ::testing::TestWithParam<Sizes> {
protected:
    KeySplit split =
        KeySplit::make(GetParam().items, GetParam().tilesPerItem, GetParam().mostCtas, GetParam().leastTiles);
    std::int64_t tiles = GetParam().items * GetParam().tilesPerItem;
};

TEST_P(Split, GivesEveryTileToOneCtaInOrder)
{
    EXPECT_EQ(split.first(0), 0);
    EXPECT_EQ(split.first(split.ctas), tiles);
    for (int cta = 0; cta < split.ctas; ++cta) {
        ASSERT_LT(split.first(cta), split.first(cta + 1)) << "a CTA without tiles";
        EXPECT_EQ(split.ctaOf(split.first(cta)), cta);
        EXPECT_EQ(split.ctaOf(split.first(cta + 1) - 1), cta);
    }
}

TEST_P(Split, LeavesNoCtaFarBehindTheOthers)
{
    EXPECT_LE(split.ctas, GetParam().mostCtas);
    const std::int64_t least = std::min(GetParam().leastTiles, GetParam().tilesPerItem);
    const std::int64_t most = std::clamp<std::int64_t>(tiles / least, 1, GetParam().mostCtas);
    for (int cta = 0; cta < split.ctas; ++cta) {
        const std::int64_t count = split.first(cta + 1) - split.first(cta);
        EXPECT_LE(7 * count, 8 * ((tiles + most - 1) / most)) << "CTA " << cta;
    }
}

/// Walks through the tiles of each CTA as the kernel does.
TEST_P(Split, NumbersThePartsOfItemsWithoutCollision)
{
    std::set<std::int64_t> parts;
    std::map<std::int64_t, std::vector<int>> ctasOfItem;
    std::set<int> counters;
    for (int cta = 0; cta < split.ctas; ++cta) {
        for (std::int64_t tile = split.first(cta); tile < split.first(cta + 1);) {
            const std::int64_t item = tile / split.tilesPerItem;
            const std::int64_t end = std::min(split.first(cta + 1), (item + 1) * split.tilesPerItem);
            if (end - tile < split.tilesPerItem) {
                const bool begins = tile % split.tilesPerItem == 0;
                EXPECT_TRUE(parts.insert(KeySplit::part(cta, begins)).second);
                EXPECT_LT(KeySplit::part(cta, begins), std::int64_t{split.ctas} * KeySplit::kPartsPerCta);
                EXPECT_EQ(begins, cta == split.firstCtaOf(item));
                ctasOfItem[item].push_back(cta);
            }
            tile = end;
        }
    }
    for (const auto& [item, ctas] : ctasOfItem) {
        EXPECT_EQ(ctas.front(), split.firstCtaOf(item));
        EXPECT_EQ(ctas.back(), split.lastCtaOf(item));
        EXPECT_EQ(static_cast<int>(ctas.size()), ctas.back() - ctas.front() + 1);
        EXPECT_TRUE(counters.insert(ctas.front()).second) << "two split items share a counter";
    }
    EXPECT_EQ(split.splitsItems(), !ctasOfItem.empty());
}

INSTANTIATE_TEST_SUITE_P(Sizes, Split,
                         ::testing::Values(Sizes{1, 1, 264, 1}, Sizes{1, 8192, 264, 1}, Sizes{8, 64, 264, 1},
                                           Sizes{32, 64, 264, 1}, Sizes{264, 5, 264, 1},
                                           Sizes{300, 7, 264, 2}, Sizes{2048, 3, 264, 1},
                                           Sizes{3, 100, 264, 8}, Sizes{5, 4, 264, 8}, Sizes{7, 11, 3, 1},
                                           Sizes{64, 65, 264, 1}, Sizes{2047, 5, 264, 1},
                                           Sizes{200, 9, 264, 1}));

TEST(KeySplit, HasNoMoreCtasThanAreWorthwhile)
{
    EXPECT_EQ(KeySplit::make(3, 100, 264, 8).ctas, 36);
    EXPECT_EQ(KeySplit::make(5, 4, 264, 8).ctas, 5);
}

TEST(KeySplit, DividesNoItemWhereWholeItemsKeepAlmostAllCtasBusy)
{
    EXPECT_FALSE(KeySplit::make(256, 64, 264, 1).splitsItems());
    EXPECT_FALSE(KeySplit::make(2048, 64, 264, 1).splitsItems());
    EXPECT_FALSE(KeySplit::make(2047, 64, 264, 1).splitsItems());
    EXPECT_TRUE(KeySplit::make(300, 64, 264, 1).splitsItems());
}

TEST(KeySplit, GivesEachCtaTilesOfOneItemWhereThatKeepsAlmostAllCtasBusy)
{
    const KeySplit split = KeySplit::make(64, 65, 264, 1);
    EXPECT_EQ(split.ctas, 256);
    for (std::int64_t item = 0; item < 64; ++item) {
        EXPECT_EQ(split.first(static_cast<int>(4 * item)), 65 * item);
    }
}

TEST(KeySplit, HoldsMoreThan32BitsOfTiles)
{
    const KeySplit split = KeySplit::make(std::int64_t{1} << 24, 1 << 14, 264, 1);
    EXPECT_EQ(split.first(264), std::int64_t{1} << 38);
    EXPECT_EQ(split.ctaOf((std::int64_t{1} << 38) - 1), 263);
}

} // namespace
} // namespace tilescope::kernels
