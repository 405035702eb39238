#include "kernels/include/mask.h"

#include <gtest/gtest.h>

namespace tilescope::kernels {
namespace {

struct Sizes {
    int queries;
    int keys;
};

class MaskBounds : public ::testing::TestWithParam<Sizes> {};

TEST_P(MaskBounds, AgreeWithTheElements)
{
    const auto [queries, keys] = GetParam();
    for (const bool causal : {false, true}) {
        const MaskPolicy<int> mask{queries, keys, causal};
        for (int query = 0; query < queries; ++query) {
            int seen = 0;
            for (int key = 0; key < keys; ++key) {
                EXPECT_EQ(mask.sees(query, key), key < mask.keysSeenBy(query));
                EXPECT_EQ(mask.sees(query, key), query >= mask.firstQueryOf(key));
                seen += mask.sees(query, key);
            }
            EXPECT_EQ(mask.keysSeenBy(query), seen);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MaskBounds,
                         ::testing::Values(Sizes{1, 1}, Sizes{5, 5}, Sizes{3, 9}, Sizes{9, 3}, Sizes{7, 1}));

TEST(Mask, LastQuerySeesEveryKeyWhenCausal)
{
    const MaskPolicy<int> mask{4, 10, true};
    EXPECT_EQ(mask.keysSeenBy(3), 10);
    EXPECT_EQ(mask.keysSeenBy(0), 7);
}

TEST(Mask, FirstQueriesSeeNothingWhenThereAreFewerKeys)
{
    const MaskPolicy<int> mask{10, 4, true};
    EXPECT_EQ(mask.keysSeenBy(5), 0);
    EXPECT_EQ(mask.keysSeenBy(6), 1);
}

} // namespace
} // namespace tilescope::kernels
