#include "core/model/flags.h"

#include <gtest/gtest.h>

#include <set>

namespace tilescope {

TEST(Flags, HaveNamesAndSentencesOfTheirOwn)
{
    std::set<std::string_view> names;
    std::set<std::string_view> sentences;
    for (const FlagInfo& flag : kFlags) {
        EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
        EXPECT_TRUE(sentences.insert(flag.sentence).second) << flag.sentence;
        EXPECT_FALSE(flag.name.empty());
        EXPECT_EQ(flag.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos)
            << flag.name;
        ASSERT_FALSE(flag.sentence.empty());
        EXPECT_NE(flag.sentence.back(), '.') << flag.sentence;
    }
}

TEST(Flags, AreFoundByWhatARunStores)
{
    for (const FlagInfo& flag : kFlags) {
        EXPECT_EQ(findFlag(flagText(flag.kind)), &flag);
        EXPECT_EQ(findFlag(flagText(flag.kind, "1: 2")), &flag);
        EXPECT_EQ(describeFlag(flagText(flag.kind)), flag.sentence);
        EXPECT_EQ(describeFlag(flagText(flag.kind, "a: b")), std::string(flag.sentence) + " (a: b)");
        EXPECT_EQ(flagName(flagText(flag.kind, "a: b")), flag.name);
        EXPECT_TRUE(hasFlag(std::vector{std::string("x"), flagText(flag.kind, "a")}, flag.kind));
    }
    EXPECT_FALSE(hasFlag({}, FlagKind::Drift));
}

TEST(Flags, OfOtherVersionsStayAsTheyAre)
{
    EXPECT_EQ(findFlag("from-the-future: 3"), nullptr);
    EXPECT_EQ(findFlag("drifting"), nullptr);
    EXPECT_EQ(findFlag(""), nullptr);
    EXPECT_EQ(describeFlag("from-the-future: 3"), "from-the-future: 3");
    EXPECT_EQ(describeFlag("busy \"host\""), "busy \"host\"");
}

} // namespace tilescope
