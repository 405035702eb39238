#include "core/analysis/kernels/sequence_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::analysis {

// GoogleTest prints values of a type with the PrintTo of its namespace.
void PrintTo(const AlignedPair& pair, std::ostream* out)
{
    *out << pair.a << ":" << pair.b;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Keys = std::vector<std::uint32_t>;

/// Length of the longest common subsequence, by the table of all beginnings.
std::size_t longestCommon(const Keys& a, const Keys& b)
{
    std::vector<std::vector<std::size_t>> length(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j)
            length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1
                                                : std::max(length[i - 1][j], length[i][j - 1]);
    return length[a.size()][b.size()];
}

void expectCommon(const Keys& a, const Keys& b, const std::vector<AlignedPair>& pairs)
{
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        ASSERT_LT(pairs[i].a, a.size());
        ASSERT_LT(pairs[i].b, b.size());
        EXPECT_EQ(a[pairs[i].a], b[pairs[i].b]);
        if (i > 0) {
            EXPECT_GT(pairs[i].a, pairs[i - 1].a);
            EXPECT_GT(pairs[i].b, pairs[i - 1].b);
        }
    }
}

Keys randomKeys(std::mt19937& random)
{
    Keys keys(random() % 20);
    for (std::uint32_t& key : keys)
        key = random() % 4;
    return keys;
}

TEST(AlignSequences, PairsWhatBothHaveInOrder)
{
    EXPECT_THAT(alignSequences(Keys{1, 2, 3, 4}, Keys{1, 3, 5, 4}),
                ElementsAre(AlignedPair{0, 0}, AlignedPair{2, 1}, AlignedPair{3, 3}));
    EXPECT_THAT(alignSequences(Keys{}, Keys{1}), IsEmpty());
    EXPECT_THAT(alignSequences(Keys{1, 2}, Keys{3, 4, 5}), IsEmpty());
}

TEST(AlignSequences, FindALongestCommonSubsequence)
{
    constexpr unsigned kSeed = 7;
    std::mt19937 random(kSeed);
    for (int round = 0; round < 2000; ++round) {
        const Keys a = randomKeys(random);
        const Keys b = randomKeys(random);
        const std::vector<AlignedPair> pairs = alignSequences(a, b);
        expectCommon(a, b, pairs);
        EXPECT_EQ(pairs.size(), longestCommon(a, b)) << "round " << round << " of seed " << kSeed;
    }
}

TEST(AlignSequences, AlignPieceByPieceBeyondTheLimit)
{
    constexpr unsigned kSeed = 8;
    std::mt19937 random(kSeed);
    for (int round = 0; round < 2000; ++round) {
        const Keys a = randomKeys(random);
        const Keys b = randomKeys(random);
        expectCommon(a, b, alignSequences(a, b, 1 + round % 4));
    }
}

TEST(AlignSequences, OfEqualSequencesPairEverything)
{
    const Keys keys(100'000, 3);
    EXPECT_EQ(alignSequences(keys, keys).size(), keys.size());
}

} // namespace
} // namespace tilescope::analysis
