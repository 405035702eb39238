#include "ui/kit/view_history.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

class ViewHistoryTest : public ::testing::Test {
protected:
    ViewHistory::Change change(int to, const char* series = "")
    {
        const int from = std::exchange(value_, to);
        return {.name = QStringLiteral("%1").arg(to),
                .undo = [this, from] { value_ = from; },
                .redo = [this, to] { value_ = to; },
                .series = QString::fromLatin1(series)};
    }

    ViewHistory history_;
    int value_ = 0;
};

TEST_F(ViewHistoryTest, UndoesAndMakesAgain)
{
    history_.add(change(1));
    history_.add(change(2));
    EXPECT_EQ(history_.undoName(), QStringLiteral("2"));
    history_.undo();
    EXPECT_EQ(value_, 1);
    EXPECT_EQ(history_.undoName(), QStringLiteral("1"));
    EXPECT_EQ(history_.redoName(), QStringLiteral("2"));
    history_.redo();
    EXPECT_EQ(value_, 2);
    history_.undo();
    history_.undo();
    history_.undo(); // nothing is left
    EXPECT_EQ(value_, 0);
    history_.add(change(5));
    EXPECT_TRUE(history_.redoName().isEmpty()) << "another change ends what could be made again";
}

TEST_F(ViewHistoryTest, ChangesOfASeriesAreOneStep)
{
    history_.add(change(1, "zoom"));
    history_.add(change(2, "zoom"));
    history_.add(change(3, "zoom"));
    history_.add(change(4, "filter"));
    history_.undo();
    EXPECT_EQ(value_, 3);
    history_.undo();
    EXPECT_EQ(value_, 0);
    history_.redo();
    EXPECT_EQ(value_, 3);
    history_.add(change(7, "zoom"));
    history_.undo();
    EXPECT_EQ(value_, 3) << "what was made again is a step of its own";
}

TEST_F(ViewHistoryTest, WhatIsDoneWhileUndoingIsNoChange)
{
    history_.add(
        {.name = QStringLiteral("outer"), .undo = [this] { history_.add(change(9)); }, .redo = [] {}});
    history_.undo();
    EXPECT_TRUE(history_.undoName().isEmpty());
    EXPECT_EQ(history_.redoName(), QStringLiteral("outer"));
}

TEST_F(ViewHistoryTest, ChangesGoWithWhatTheyAreOf)
{
    auto shown = std::make_shared<int>();
    history_.add(change(1));
    ViewHistory::Change ofShown = change(2);
    ofShown.of = shown;
    history_.add(std::move(ofShown));
    EXPECT_EQ(history_.undoName(), QStringLiteral("2"));
    shown.reset();
    EXPECT_EQ(history_.undoName(), QStringLiteral("1"));
    history_.undo();
    EXPECT_EQ(value_, 0);
}

} // namespace
} // namespace tilescope::ui
