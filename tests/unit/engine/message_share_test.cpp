#include "core/engine/ranks/message_share.h"

#include <gtest/gtest.h>

namespace tilescope::engine {

TEST(MessageShare, OfAllRanksIsTheMessage)
{
    for (int ranks = 1; ranks <= 9; ++ranks)
        for (const std::int64_t count : {0, 1, 63, 64, 65, 129, 1'000, 65'536, 65'537}) {
            std::int64_t end = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const MessageShare share = shareOf(count, rank, ranks);
                EXPECT_EQ(share.begin, end) << rank << " of " << ranks << ", " << count;
                EXPECT_GE(share.count(), 0);
                EXPECT_TRUE(share.begin % MessageShare::kUnit == 0 || share.begin == count);
                end = share.end;
            }
            EXPECT_EQ(end, count);
        }
}

TEST(MessageShare, DiffersBetweenRanksByNoMoreThanItsUnit)
{
    EXPECT_EQ(shareOf(1'000, 0, 2), (MessageShare{0, 512}));
    EXPECT_EQ(shareOf(1'000, 1, 2), (MessageShare{512, 1'000}));
    EXPECT_EQ(shareOf(1, 1, 2), (MessageShare{1, 1}));
}

} // namespace tilescope::engine
