#include "core/exchange/tables/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tilescope::exchange {

TEST(EscapeForTerminal, SpellsOutWhatATerminalWouldObey)
{
    EXPECT_EQ(escapeForTerminal("plain \u00e9 \u4e2d"), "plain \u00e9 \u4e2d");
    EXPECT_EQ(escapeForTerminal("\x1b]0;title\a"), R"(\x1b]0;title\x07)");
    EXPECT_EQ(escapeForTerminal("a\nb\tc\rd"), R"(a\nb\tc\rd)");
    EXPECT_EQ(escapeForTerminal("\x7f\u009b"), R"(\x7f\x9b)");
    EXPECT_EQ(escapeForTerminal("evil\u202etxt.exe"), R"(evil\u202etxt.exe)");
    EXPECT_EQ(escapeForTerminal("\xff\xc0\x80\xed\xa0\x80"), R"(\xff\xc0\x80\xed\xa0\x80)");
    EXPECT_EQ(escapeForTerminal("\xe4\xb8"), R"(\xe4\xb8)");
}

TEST(JsonString, IsOneStringWhateverIsInIt)
{
    EXPECT_EQ(jsonString("a\"b\\c\n"), R"("a\"b\\c\n")");
    EXPECT_EQ(jsonString(std::string_view("\0\x1b", 2)), R"("\u0000\u001b")");
    EXPECT_EQ(jsonString("\xff"), "\"\xef\xbf\xbd\"");
    EXPECT_EQ(jsonString("\u009b31m\u202e"), R"("\u009b31m\u202e")");
}

TEST(JsonNumber, ReadsBackAsTheSame)
{
    EXPECT_EQ(jsonNumber(0.1), "0.1");
    EXPECT_EQ(jsonNumber(1e300), "1e+300");
    EXPECT_EQ(jsonNumber(std::numeric_limits<double>::infinity()), "null");
}

TEST(CsvField, CannotBecomeAFormula)
{
    EXPECT_EQ(csvField("plain"), "plain");
    EXPECT_EQ(csvField("=1+1"), "'=1+1");
    EXPECT_EQ(csvField("@SUM(A1)"), "'@SUM(A1)");
    EXPECT_EQ(csvField("-2+3"), "'-2+3");
    EXPECT_EQ(csvField("-1"), "-1") << "a number is none";
    EXPECT_EQ(csvField("-1.5e-3"), "-1.5e-3");
    EXPECT_EQ(csvField("-inf"), "-inf");
    EXPECT_EQ(csvField("a,b"), "\"a,b\"");
    EXPECT_EQ(csvField("say \"x\""), "\"say \"\"x\"\"\"");
    EXPECT_EQ(csvField("=a,b"), "\"'=a,b\"");
    EXPECT_EQ(csvField("\r=1"), R"('\r=1)");
    EXPECT_EQ(csvField("\x1b[31m\tred\n"), "\"\\x1b[31m\tred\n\"");
}

TEST(DisplayWidth, CountsColumnsNotBytes)
{
    EXPECT_EQ(displayWidth("abc"), 3u);
    EXPECT_EQ(displayWidth("\u00b1"), 1u);
    EXPECT_EQ(displayWidth("e\u0301"), 1u);
    EXPECT_EQ(displayWidth("\u4e2d\u6587"), 4u);
}

TEST(ElideMiddle, KeepsBothEnds)
{
    EXPECT_EQ(elideMiddle("abcdefghij", 10), "abcdefghij");
    EXPECT_EQ(elideMiddle("abcdefghij", 7), "abc\u2026hij");
    EXPECT_EQ(elideMiddle("abcdefghij", 4), "ab\u2026j");
    EXPECT_EQ(elideMiddle("abcdefghij", 1), "\u2026");
    EXPECT_EQ(elideMiddle("abcdefghij", 0), "");
    for (std::size_t width = 0; width < 12; ++width)
        EXPECT_LE(displayWidth(elideMiddle("\u4e2d\u6587x\u4e2d\u6587y", width)), width);
}

TEST(ElidePairs, LeavesOutWholePairsAndCountsThem)
{
    const std::string pairs = "backend=flash memory_limit=64 MiB size=tiny";
    EXPECT_EQ(elidePairs(pairs, 43), pairs);
    EXPECT_EQ(elidePairs(pairs, 42), "backend=flash memory_limit=64 MiB \u2026 +1");
    EXPECT_EQ(elidePairs(pairs, 37), "backend=flash \u2026 +2");
    EXPECT_EQ(elidePairs(pairs, 18), "backend=flash \u2026 +2");
    EXPECT_EQ(elidePairs(pairs, 17), "backend=flash\u2026 +2");
    EXPECT_EQ(elidePairs(pairs, 10), "backen\u2026 +2") << "a pair that does not fit loses its end";
    EXPECT_EQ(elidePairs("name-of-a-sweep size=tiny", 20), "name-of-a-sweep \u2026 +1");
    EXPECT_EQ(elidePairs("seq_len=1048576", 8), "seq_len\u2026");
    EXPECT_EQ(elidePairs("busy-host, debug-build", 21), "busy-host \u2026 +1");
    EXPECT_THAT(elidePairsAlike({"busy-host, debug-build", "debug-build"}, 15),
                ::testing::ElementsAre("busy-host \u2026 +1", "debug-build"));
    for (std::size_t width = 0; width < 43; ++width)
        EXPECT_LE(displayWidth(elidePairs(pairs, width)), width);
}

TEST(ElidePairs, RowsKeepTheKeysThatTellThemApart)
{
    // heads says nothing beside seq_len.
    EXPECT_THAT(
        elidePairsAlike({"backend=naive heads=1 seq_len=64", "backend=flash heads=1 seq_len=64",
                         "backend=naive heads=2 seq_len=128", "backend=flash heads=2 seq_len=128",
                         "backend=naive heads=2 seq_len=256"},
                        30),
        ::testing::ElementsAre("backend=naive seq_len=64 \u2026 +1", "backend=flash seq_len=64 \u2026 +1",
                               "backend=naive seq_len=128 \u2026 +1", "backend=flash seq_len=128 \u2026 +1",
                               "backend=naive seq_len=256 \u2026 +1"));
    EXPECT_THAT(elidePairsAlike({"size=tiny seq_len=64", "size=tiny seq_len=64"}, 14),
                ::testing::ElementsAre("size=tiny \u2026 +1", "size=tiny \u2026 +1"))
        << "equal rows";
}

TEST(Escapes, HaveFourDigitsAndLeaveOtherPlanesAsTheyAre)
{
    EXPECT_EQ(jsonString("\u200b\x01"), R"("\u200b\u0001")");
    EXPECT_EQ(jsonString("\U0001f600"), "\"\U0001f600\"");
    EXPECT_EQ(escapeForTerminal("\U0001f600\u202e"), "\U0001f600\\u202e");
}

} // namespace tilescope::exchange
