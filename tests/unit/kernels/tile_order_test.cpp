#include "kernels/cuda/common/tile_order.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tilescope::kernels {
namespace {

struct Sizes {
    int tiles;
    int heads;
    int batch;
    std::int64_t bytesPerHead;
};

class Order : public ::testing::TestWithParam<Sizes> {};

TEST_P(Order, HandsOutEveryTileOnce)
{
    const auto [tiles, heads, batch, bytes] = GetParam();
    for (const bool causal : {false, true}) {
        const TileOrder order = TileOrder::make(tiles, heads, batch, causal, bytes);
        ASSERT_EQ(order.tiles, tiles * heads * batch);
        std::set<std::tuple<int, int, int>> seen;
        for (int i = 0; i < order.tiles; ++i) {
            const TileCoordinate at = order.position(i);
            EXPECT_TRUE(at.queryTile >= 0 && at.queryTile < tiles && at.head >= 0 && at.head < heads &&
                        at.batch >= 0 && at.batch < batch);
            seen.emplace(at.queryTile, at.head, at.batch);
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(order.tiles));
    }
}

TEST_P(Order, GoesFromTheLongestTileToTheShortestOfEachHeadWhenCausal)
{
    const auto [tiles, heads, batch, bytes] = GetParam();
    const TileOrder order = TileOrder::make(tiles, heads, batch, true, bytes);
    std::vector<int> last(heads * batch, tiles);
    for (int i = 0; i < order.tiles; ++i) {
        const TileCoordinate at = order.position(i);
        int& previous = last[at.batch * heads + at.head];
        EXPECT_EQ(at.queryTile, previous - 1) << "a fixed order of additions relies on it";
        previous = at.queryTile;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Order,
                         ::testing::Values(Sizes{1, 1, 1, 1 << 10}, Sizes{8, 3, 2, 12 << 20},
                                           Sizes{5, 7, 3, 1 << 20}, Sizes{3, 4, 5, 64 << 20}));

TEST(Order, LetsHeadsTakeTurnsWhoseKeysFitInTheCache)
{
    const TileOrder order = TileOrder::make(4, 8, 1, true, 8 << 20); // four heads in 32 MB
    EXPECT_EQ(order.position(0).head, 0);
    EXPECT_EQ(order.position(3).head, 3);
    EXPECT_EQ(order.position(4).head, 0);
    EXPECT_EQ(order.position(16).head, 4);
}

TEST(Order, TakesFewerHeadsWhereItMay)
{
    const TileOrder order = TileOrder::make(4, 8, 1, true, 8 << 20, 16 << 20);
    EXPECT_EQ(order.position(1).head, 1);
    EXPECT_EQ(order.position(2).head, 0);
    EXPECT_EQ(order.position(8).head, 2);
}

} // namespace
} // namespace tilescope::kernels
