#include "core/report/table_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tilescope::report {

using ::testing::ElementsAre;

namespace {

Table tableOf(std::size_t columns, std::size_t characters)
{
    Table table{.columns = {{.heading = "size", .numeric = false, .isKey = true}},
                .rows = {{{.text = "small"}}}};
    for (std::size_t i = 0; i < columns; ++i) {
        table.columns.push_back({.heading = "x"});
        table.rows[0].push_back({.kind = Cell::Kind::Number, .text = std::string(characters, '1')});
    }
    return table;
}

} // namespace

TEST(TableParts, ATableThatFitsIsWhole)
{
    const Table table = tableOf(3, 8);
    const std::vector<TablePart> parts = partsOf(table);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_THAT(parts[0].columns, ElementsAre(0, 1, 2, 3));
    EXPECT_TRUE(parts[0].first && parts[0].last);
}

TEST(TableParts, AWideTableIsDividedAndRepeatsItsKeys)
{
    const Table table = tableOf(12, 8);
    const std::vector<TablePart> parts = partsOf(table);
    ASSERT_EQ(parts.size(), 2U);
    std::vector<std::size_t> values;
    for (const TablePart& part : parts) {
        EXPECT_EQ(part.columns.front(), 0U);
        EXPECT_LE(widthOf(part), 92U);
        values.insert(values.end(), part.columns.begin() + 1, part.columns.end());
    }
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    EXPECT_TRUE(parts[0].first && !parts[0].last && !parts[1].first && parts[1].last);
}

TEST(TableParts, AColumnWiderThanAPageHasAPartOfItsOwn)
{
    const std::vector<TablePart> parts = partsOf(tableOf(2, 200));
    EXPECT_EQ(parts.size(), 2U);
}

TEST(TableParts, LongWordsBreakBehindPunctuation)
{
    EXPECT_THAT(breakable("void cutlass::Kernel2<float, 128>(int)"),
                ElementsAre("void cutlass::", "Kernel2<", "float, 128>(int)"));
    EXPECT_THAT(breakable("flash-torch 12"), ElementsAre("flash-torch 12"));
}

TEST(TableParts, PiecesOfATextAreTheText)
{
    constexpr unsigned kSeed = 7;
    std::mt19937 random(kSeed);
    const std::string alphabet = "ab_:<,. é–";
    for (int i = 0; i < 200; ++i) {
        std::string text;
        for (unsigned n = random() % 80; n > 0; --n)
            text += alphabet[random() % alphabet.size()];
        std::string joined;
        for (const std::string_view piece : breakable(text)) {
            EXPECT_FALSE(piece.empty()) << text;
            joined += piece;
        }
        EXPECT_EQ(joined, text) << "seed " << kSeed;
    }
}

} // namespace tilescope::report
