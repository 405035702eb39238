#include "core/base/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace tilescope {

namespace {

constexpr std::array<std::string_view, 6> kWords{"batch",       "backend", "seq_len",
                                                 "environment", "runs",    "samples"};

} // namespace

TEST(NearestWord, FindsTypingErrors)
{
    EXPECT_EQ(nearestWord("bacth", kWords), "batch");
    EXPECT_EQ(nearestWord("Batch", kWords), "batch");
    EXPECT_EQ(nearestWord("seq-len", kWords), "seq_len");
    EXPECT_EQ(nearestWord("envir", kWords), "environment");
    EXPECT_EQ(nearestWord("run", kWords), "runs");
    EXPECT_EQ(nearestWord("sample", kWords), "samples");
}

TEST(NearestWord, PrefersTheSameWordInOtherLettersToABeginning)
{
    const std::array<std::string_view, 3> units{"GB", "GiB", "GiBit"};
    EXPECT_EQ(nearestWord("GIB", units), "GiB");
}

TEST(NearestWord, IsEmptyIfNoWordIsSimilar)
{
    EXPECT_EQ(nearestWord("kernel", kWords), "");
    EXPECT_EQ(nearestWord("", kWords), "");
    EXPECT_EQ(nearestWord(std::string(100'000, 'x'), kWords), "");
}

TEST(DidYouMean, NamesTheNearestAndAllAllowedWords)
{
    const std::array<std::string_view, 2> words{"table", "json"};
    EXPECT_EQ(didYouMean("jsno", words), "did you mean 'json'? allowed here: table, json");
    EXPECT_EQ(didYouMean("yaml", words), "allowed here: table, json");
}

} // namespace tilescope
