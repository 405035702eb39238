#include "ui/window/palette_match.h"

#include <QString>

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

std::optional<int> score(const char* typed, const char* text)
{
    return paletteScore(QString::fromUtf8(typed), QString::fromUtf8(text));
}

TEST(PaletteScore, TakesWordsInAnyOrderAndCase)
{
    EXPECT_TRUE(score("window zoom", "Zoom to the window"));
    EXPECT_TRUE(score("ZOOM", "zoom to the window"));
    EXPECT_FALSE(score("zoom page", "Zoom to the window")) << "every word must occur";
    EXPECT_EQ(score("", "anything"), 0);
    EXPECT_EQ(score("  ", "anything"), 0);
}

TEST(PaletteScore, TakesInitials)
{
    EXPECT_TRUE(score("zw", "Zoom to the window"));
    EXPECT_TRUE(score("zowi", "Zoom to the window"));
    EXPECT_TRUE(score("ln", "vectorized layerNorm kernel")) << "a capital begins a word";
    EXPECT_FALSE(score("om", "Zoo to the mine")) << "o of Zoo begins no word";
    EXPECT_FALSE(score("wz", "Zoom to the window")) << "the order counts";
}

TEST(PaletteScore, PrefersWholeWordsThenBeginningsThenInnerLetters)
{
    EXPECT_GT(score("run", "Delete run"), score("run", "Delete runs"));
    EXPECT_GT(score("run", "Running jobs"), score("run", "Prune"));
    EXPECT_GT(score("pru", "Prune"), score("pru", "Pages: ranks, Utilities"));
    EXPECT_GT(score("open", "Open"), score("open", "Open the recent file"));
}

} // namespace
} // namespace tilescope::ui
