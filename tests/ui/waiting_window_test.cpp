// The page Waiting: without a GPU, without stacks, one run, two runs, in a small window.

#include "tests/ui/waiting_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/table_view.h"
#include "ui/waiting/mean_step_bar.h"
#include "ui/waiting/waiting_page.h"

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>

#include <fstream>
#include <numeric>

namespace tilescope::ui {
namespace {

class WaitingPageTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        test::writeWaitingFile(folder_ / "waiting.tscope", folder_ / "program");
        window_.open({QString::fromStdString((folder_ / "waiting.tscope").string())});
        waitUntilSettled();
        window_.showPage(QStringLiteral("waiting"));
        select({1});
    }
    void select(std::initializer_list<int> runs)
    {
        std::vector<RunKey> keys;
        for (const int run : runs)
            keys.push_back({window_.workspace().files().back().id, RunId{run}});
        window_.workspace().select(keys);
        waitUntilSettled();
    }
    WaitingPage& waiting() { return page<WaitingPage>("waiting"); }
    QString shownText()
    {
        QStringList texts;
        for (const QLabel* label : waiting().findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }
    QString cell(const TableView& table, std::size_t row, std::size_t column)
    {
        return table.table().rows.at(row).cells.at(column).text;
    }
};

TEST_F(WaitingPageTest, SaysInOneSentenceWhatTheGpuWaitsFor)
{
    EXPECT_TRUE(shownText().contains(QStringLiteral("The GPU was idle for "))) << shownText().toStdString();
    EXPECT_TRUE(shownText().contains(QStringLiteral("The costliest line is train.py:15")))
        << shownText().toStdString();
}

TEST_F(WaitingPageTest, PartsOfTheMeanStepAddUp)
{
    const auto* bar = waiting().findChild<MeanStepBar*>();
    ASSERT_NE(bar, nullptr);
    double idle = 0;
    for (const MeanStepBar::Part& part : bar->parts())
        idle += part.isIdle ? part.time : 0;
    EXPECT_NEAR(idle, double(waiting().view().graph()->width()) / 12, 2);
    EXPECT_GT(bar->parts().size(), 5U);
}

TEST_F(WaitingPageTest, ShowsTheSourceOfTheSelectedLine)
{
    const TableView& source = waiting().source();
    ASSERT_TRUE(source.isVisible());
    bool found = false;
    for (const TableRow& row : source.table().rows)
        found = found || (row.strong && row.cells.at(1).text.contains(QStringLiteral("loss = model(tokens")));
    EXPECT_TRUE(found);
}

TEST_F(WaitingPageTest, SaysWhyTheSourceIsNotShown)
{
    std::ofstream(folder_ / "program" / "train.py", std::ios::app) << "# changed\n";
    std::filesystem::last_write_time(folder_ / "program" / "train.py",
                                     std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
    select({2});
    select({1});
    EXPECT_TRUE(shownText().contains(QStringLiteral("was changed after the run began")))
        << shownText().toStdString();
}

TEST_F(WaitingPageTest, ListsLinesOfLibrariesToo)
{
    auto* code = waiting().findChild<SegmentedControl*>();
    code->setCurrent(1);
    emit code->changed(1);
    waitUntilSettled();
    bool found = false;
    for (const TableRow& row : waiting().lines().table().rows)
        found = found || row.cells.front().text == QStringLiteral("graph.py:829");
    EXPECT_TRUE(found);
    EXPECT_TRUE(waiting().command().contains(QStringLiteral("--group innermost")));
}

TEST_F(WaitingPageTest, InvertsTheStacks)
{
    const std::int64_t width = waiting().view().graph()->width();
    waiting().findChild<QCheckBox*>()->setChecked(true);
    waitUntilSettled();
    EXPECT_TRUE(waiting().view().graph()->isInverted);
    EXPECT_EQ(waiting().view().graph()->width(), width);
}

TEST_F(WaitingPageTest, FollowsTheTimeFilter)
{
    const std::int64_t width = waiting().view().graph()->width();
    const RunKey run{window_.workspace().files().back().id, RunId{1}};
    window_.workspace().setTimeFilter({{run, {Nanoseconds(0), Nanoseconds(50'000'000)}}});
    waitUntilSettled();
    EXPECT_LT(waiting().view().graph()->width(), width);
    EXPECT_TRUE(waiting().command().contains(QStringLiteral("--to 50000000")))
        << waiting().command().toStdString();
}

TEST_F(WaitingPageTest, ShowsWhichLinesOfTwoRunsChanged)
{
    select({1, 2});
    const TableData& lines = waiting().lines().table();
    ASSERT_GE(lines.columns.size(), 5U);
    EXPECT_TRUE(lines.columns.back().title.startsWith(QStringLiteral("B \u2212 A")))
        << lines.columns.back().title.toStdString();
    for (const TableRow& row : lines.rows)
        if (row.cells.front().text == QStringLiteral("train.py:15")) {
            EXPECT_LT(row.cells.back().sort, 0);
        }
    EXPECT_TRUE(shownText().contains(QStringLiteral("A: The GPU was idle")));
    EXPECT_TRUE(shownText().contains(QStringLiteral("B: The GPU was idle")));
}

TEST_F(WaitingPageTest, SaysHowStacksAreRecorded)
{
    select({3});
    EXPECT_TRUE(shownText().contains(QStringLiteral("holds no stacks of Python")))
        << shownText().toStdString();
}

TEST_F(WaitingPageTest, SaysThatNoGpuWasUsed)
{
    window_.workspace().select({{window_.workspace().files().front().id, RunId{3}}});
    waitUntilSettled();
    EXPECT_TRUE(waiting().findChild<MessageStack*>()->isShowingMessage());
}

TEST_F(WaitingPageTest, SaysWhatWouldHelp)
{
    EXPECT_TRUE(shownText().contains(QStringLiteral("tilescope record -o after.tscope -- python train.py")))
        << shownText().toStdString();
}

TEST_F(WaitingPageTest, KeepsItsPanelsInASmallWindow)
{
    window_.resize(1067, 667);
    waitUntilSettled();
    EXPECT_GE(waiting().view().width(), 150);
    EXPECT_GE(waiting().lines().width(), 200);
    EXPECT_GE(waiting().findChild<MeanStepBar*>()->height(), 120);
}

TEST_F(WaitingPageTest, FindsStacksAndLines)
{
    auto* find = waiting().findChild<QLineEdit*>();
    find->setText(QStringLiteral("adamw"));
    waitUntilSettled();
    waiting().findChild<SegmentedControl*>()->setCurrent(1);
    emit waiting().findChild<SegmentedControl*>()->changed(1);
    waitUntilSettled();
    EXPECT_EQ(waiting().lines().model()->rowCount(), 1);
}

} // namespace
} // namespace tilescope::ui
