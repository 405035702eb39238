#include "core/rendezvous/frame.h"

#include <gtest/gtest.h>

namespace tilescope::rendezvous {

TEST(Frames, AreDecodedAsTheyWereEncoded)
{
    const Frame frame{.kind = FrameKind::Arrived,
                      .rank = 3,
                      .turn = 1,
                      .first = 16,
                      .bytes = kMostFrameBytes - 16,
                      .number = -5'000'000'000};
    const auto decoded = decode(encode(frame));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->kind, frame.kind);
    EXPECT_EQ(decoded->rank, frame.rank);
    EXPECT_EQ(decoded->turn, frame.turn);
    EXPECT_EQ(decoded->first, frame.first);
    EXPECT_EQ(decoded->bytes, frame.bytes);
    EXPECT_EQ(decoded->number, frame.number);
}

TEST(Frames, OutsideASlotOrOfAnotherKindAreRefused)
{
    constexpr auto kMost = static_cast<std::uint32_t>(kMostFrameBytes);
    for (const Frame& frame : {
             Frame{.kind = static_cast<FrameKind>(5)},
             Frame{.kind = FrameKind::Arrived, .turn = 2},
             Frame{.kind = FrameKind::Arrived, .bytes = kMost + 1},
             Frame{.kind = FrameKind::Arrived, .first = 1, .bytes = kMost},
             Frame{.kind = FrameKind::Arrived, .first = 0xffffffff, .bytes = 2},
             Frame{.kind = FrameKind::Join, .bytes = kMostNameBytes + 1},
             Frame{.kind = FrameKind::Clock, .bytes = 1},
         })
        EXPECT_FALSE(decode(encode(frame)));
}

TEST(Proofs, DependOnSecretRoleAndBothNonces)
{
    const std::string proof = proofOf("secret", "rank", "a", "b");
    EXPECT_EQ(proof.size(), kProofBytes);
    EXPECT_TRUE(areEqual(proof, proofOf("secret", "rank", "a", "b")));
    for (const std::string& other :
         {proofOf("Secret", "rank", "a", "b"), proofOf("secret", "hub", "a", "b"),
          proofOf("secret", "rank", "b", "a"), proofOf("secret", "rank", "ab", "")})
        EXPECT_FALSE(areEqual(proof, other));
    EXPECT_EQ(randomText().size(), kNonceBytes);
    EXPECT_NE(randomText(), randomText());
}

} // namespace tilescope::rendezvous
