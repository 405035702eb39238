// The list of runs with studies, sweeps and very many runs, by mouse and keyboard.

#include "tests/ui/longest_turn.h"
#include "tests/ui/window_fixture.h"
#include "tests/unit/report/study_file.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_tree_model.h"

#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTreeView>

#include <set>

namespace tilescope::ui {
namespace {

class RunGroupsTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        const std::filesystem::path path = folder_ / "studies.tscope";
        config::Study all = config::loadStudy("flash");
        for (const char* name : {"scaling", "benchmarking"})
            for (const config::StudyPart& part : config::loadStudy(name).parts)
                all.parts.push_back(part);
        report::writeStudyFile(
            path, all,
            [](const ExperimentSpec& spec) {
                report::FakeResult result;
                if (spec.backend == Backend::Naive && spec.seqLen > 20'000)
                    result.status = RunStatus::Oom;
                return result;
            },
            1);
        window_.workspace().close(window_.workspace().files().front().id);
        window_.open({QString::fromStdString(path.string())});
        waitUntilSettled();
    }

    QTreeView& tree() { return named<QTreeView>(QStringLiteral("Runs")); }
    RunTreeModel& model() { return *qobject_cast<RunTreeModel*>(tree().model()); }
    const std::vector<query::RunSummary>& runs()
    {
        return window_.workspace().files().front().snapshot->runs;
    }
    std::vector<QModelIndex> groups()
    {
        std::vector<QModelIndex> groups = model().branches();
        std::erase_if(groups, [](const QModelIndex& branch) { return !branch.parent().isValid(); });
        return groups;
    }
    void clickArrow(const QModelIndex& branch)
    {
        const QRect row = tree().visualRect(branch);
        QTest::mouseClick(tree().viewport(), Qt::LeftButton, {}, {sizes().of(14), row.center().y()});
        waitUntilSettled();
    }
    QAction& item(const QMenu& menu, const QString& text)
    {
        for (QAction* action : menu.actions())
            if (action->text() == text)
                return *action;
        throw std::runtime_error("the menu has no " + text.toStdString());
    }
};

TEST_F(RunGroupsTest, OnlyTheGroupOfTheSelectedRunIsOpen)
{
    ASSERT_GT(groups().size(), 3U);
    const QModelIndex selected = model().indexOf(window_.workspace().selection().front());
    for (const QModelIndex& group : groups()) {
        bool holdsIt = false;
        for (QModelIndex at = selected.parent(); at.isValid(); at = at.parent())
            holdsIt = holdsIt || at == group;
        EXPECT_EQ(tree().isExpanded(group), holdsIt) << group.data().toString().toStdString();
    }
    EXPECT_TRUE(tree().viewport()->rect().contains(tree().visualRect(selected).center()));
}

TEST_F(RunGroupsTest, AClickOnTheArrowOrADoubleClickFoldsAGroupAndASortingKeepsIt)
{
    QModelIndex group = groups().back();
    while (group.parent().parent().isValid())
        group = group.parent();
    tree().scrollTo(group);
    const bool wasOpen = tree().isExpanded(group);
    clickArrow(group);
    EXPECT_NE(tree().isExpanded(group), wasOpen);
    const QString key = model().branchKey(group);
    tree().sortByColumn(RunTreeModel::Step, Qt::DescendingOrder);
    waitUntilSettled();
    for (const QModelIndex& each : groups())
        if (model().branchKey(each) == key) {
            EXPECT_NE(tree().isExpanded(each), wasOpen);
            tree().scrollTo(each);
            QTest::mouseClick(tree().viewport(), Qt::LeftButton, {}, tree().visualRect(each).center());
            QTest::mouseDClick(tree().viewport(), Qt::LeftButton, {}, tree().visualRect(each).center());
            EXPECT_EQ(tree().isExpanded(each), wasOpen);
        }
}

TEST_F(RunGroupsTest, FoldingIsUndoneAndMadeAgain)
{
    ViewHistory& history = window_.workspace().history();
    const auto states = [this] {
        std::vector<bool> open;
        for (const QModelIndex& group : groups())
            open.push_back(tree().isExpanded(group));
        return open;
    };
    const std::vector<bool> first = states();
    QModelIndex group = groups().back();
    while (group.parent().parent().isValid())
        group = group.parent();
    tree().scrollTo(group);
    clickArrow(group);
    const std::vector<bool> second = states();
    ASSERT_NE(second, first);
    EXPECT_EQ(history.undoName(), QStringLiteral("folding"));
    QMenu menu;
    window_.dock().fillMenu(menu, group);
    item(menu, QStringLiteral("Unfold all groups")).trigger();
    const std::vector<bool> third = states();
    EXPECT_EQ(std::ranges::count(third, false), 0);
    history.undo();
    EXPECT_EQ(states(), second) << "all groups at once";
    history.undo();
    EXPECT_EQ(states(), first) << "the group of the selected run, too";
    history.redo();
    history.redo();
    EXPECT_EQ(states(), third);
}

TEST_F(RunGroupsTest, AClickOnAFileOrAGroupSelectsItsRunsAndMovingOverItLeavesThem)
{
    const QModelIndex group = groups().front();
    tree().scrollTo(group);
    const bool wasOpen = tree().isExpanded(group);
    clickArrow(group);
    clickArrow(group);
    EXPECT_EQ(window_.workspace().selection().size(), 1U) << "the arrow selects nothing";
    clickRow(tree(), group);
    EXPECT_EQ(window_.workspace().selection(), model().runsBelow(group));
    EXPECT_EQ(tree().isExpanded(group), wasOpen) << "and does not fold it";
    const QModelIndex other = groups().back();
    tree().scrollTo(other);
    clickRow(tree(), other, Qt::ControlModifier);
    const std::set<RunKey> both(window_.workspace().selection().begin(),
                                window_.workspace().selection().end());
    for (const QModelIndex& each : {group, other})
        for (const RunKey& run : model().runsBelow(each))
            EXPECT_TRUE(both.contains(run));
    const RunKey run = model().runsBelow(group).front();
    tree().setExpanded(group, true);
    tree().scrollTo(model().indexOf(run));
    clickRow(tree(), model().indexOf(run));
    EXPECT_EQ(window_.workspace().selection(), std::vector{run});
    tree().setFocus();
    QTest::keyClick(&tree(), Qt::Key_Home);
    EXPECT_FALSE(model().isRun(tree().currentIndex())) << "on the row of the file";
    EXPECT_EQ(window_.workspace().selection(), std::vector{run});
    QTest::keyClick(&tree(), Qt::Key_Return);
    EXPECT_EQ(window_.workspace().selection().size(), runs().size());
}

TEST_F(RunGroupsTest, AFilterOpensWhatItKeepsAndTheSelectionStays)
{
    const std::vector<RunKey> before = window_.workspace().selection();
    auto& filter = named<QLineEdit>(QStringLiteral("Filter runs"));
    QMenu& menu = *named<QPushButton>(QStringLiteral("Filter runs by a value")).menu();
    emit menu.aboutToShow();
    QMenu* status = item(menu, QStringLiteral("status")).menu();
    ASSERT_NE(status, nullptr);
    for (QAction* value : status->actions())
        if (value->text().startsWith(QStringLiteral("oom")))
            value->trigger();
    EXPECT_EQ(filter.text(), QStringLiteral("status=oom"));
    const auto ooms = std::ranges::count_if(
        runs(), [](const query::RunSummary& run) { return run.result.status == RunStatus::Oom; });
    ASSERT_GT(ooms, 0);
    EXPECT_EQ(model().shownRuns(), std::size_t(ooms));
    for (const QModelIndex& group : groups())
        EXPECT_TRUE(tree().isExpanded(group));
    EXPECT_EQ(window_.workspace().selection(), before);
    filter.setText(QStringLiteral("nothing has this"));
    EXPECT_EQ(model().rowCount(), 0);
    tree().grab(); // says that no run matches
    filter.clear();
    EXPECT_TRUE(tree().selectionModel()->isSelected(model().indexOf(before.front())));
}

TEST_F(RunGroupsTest, TheMenuOfAGroupSelectsItsRuns)
{
    QMenu menu;
    const QModelIndex group = groups().front();
    const std::vector<RunKey> below = model().runsBelow(group);
    window_.dock().fillMenu(menu, group);
    item(menu, QStringLiteral("Select %1 runs").arg(below.size())).trigger();
    EXPECT_EQ(window_.workspace().selection(), below);
    item(menu, QStringLiteral("Fold all groups")).trigger();
    for (const QModelIndex& each : groups())
        EXPECT_FALSE(tree().isExpanded(each));
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
    EXPECT_TRUE(tree().isExpanded(groups().front())) << "the folding first";
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(window_.workspace().selection().size(), 1U);
}

TEST_F(RunGroupsTest, KeysFoldUnfoldAndSelect)
{
    tree().setFocus();
    tree().collapse(groups().front());
    tree().setCurrentIndex(groups().front());
    QTest::keyClick(&tree(), Qt::Key_Right);
    EXPECT_TRUE(tree().isExpanded(groups().front()));
    QTest::keyClick(&tree(), Qt::Key_Left);
    EXPECT_FALSE(tree().isExpanded(groups().front()));
}

TEST_F(RunGroupsTest, OneHistoryUndoesFilterSortingAndSelection)
{
    ViewHistory& history = window_.workspace().history();
    auto& filter = named<QLineEdit>(QStringLiteral("Filter runs"));
    filter.setText(QStringLiteral("status:ok"));
    const QHeaderView& header = *tree().header();
    const int before = header.sortIndicatorSection();
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {},
                      {header.sectionViewportPosition(RunTreeModel::Step) + 5, header.height() / 2});
    EXPECT_EQ(header.sortIndicatorSection(), int(RunTreeModel::Step));
    const std::vector<RunKey> selected = window_.workspace().selection();
    const RunKey other{selected.front().file, runs().back().run};
    ASSERT_NE(other, selected.front());
    window_.workspace().select({other});
    EXPECT_EQ(history.undoName(), QStringLiteral("choice of runs"));
    tree().setFocus();
    QTest::keyClick(&tree(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(window_.workspace().selection(), selected);
    EXPECT_EQ(history.undoName(), QStringLiteral("sorting"));
    QTest::keyClick(&tree(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(header.sortIndicatorSection(), before);
    QTest::keyClick(&tree(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_TRUE(filter.text().isEmpty());
    for (int again = 0; again < 3; ++again)
        QTest::keyClick(&tree(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(filter.text(), QStringLiteral("status:ok"));
    EXPECT_EQ(window_.workspace().selection(), std::vector{other});
}

} // namespace
} // namespace tilescope::ui
