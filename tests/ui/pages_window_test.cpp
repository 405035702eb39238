// Pages in unusual states: unreadable files, more than two runs, runs without a GPU or without a trace.

#include "core/query/runs/run_tables.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/compare/compare_page.h"
#include "ui/experiment/live_plots.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_plot.h"
#include "ui/overview/key_figure_card.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/run_dock.h"

#include <QComboBox>
#include <QImage>
#include <QLineEdit>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTreeView>

#include <fstream>
#include <vector>

namespace tilescope::ui {
namespace {

class PagesTest : public WindowTest {
protected:
    int openCpuFile()
    {
        const std::filesystem::path file = folder_ / "cpu.tscope";
        test::writeCpuFile(file);
        window_.open({QString::fromStdString(file.string())});
        waitUntilSettled();
        return window_.workspace().files().back().id;
    }

    void select(int file, std::initializer_list<int> runs)
    {
        std::vector<RunKey> keys;
        for (const int run : runs)
            keys.push_back({file, RunId{run}});
        window_.workspace().select(keys);
        waitUntilSettled();
    }

    QString visibleText(const char* name)
    {
        QStringList texts;
        for (const QLabel* label : window_.page(QString::fromLatin1(name))->findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }

    /// Clicks a choice of the first panel of Compare.
    void showGroups(const QString& word)
    {
        for (QPushButton* button : window_.page(QStringLiteral("compare"))->findChildren<QPushButton*>())
            if (button->text() == word)
                button->click();
        waitUntilSettled();
    }
};

TEST_F(PagesTest, AnUnreadableFileIsReportedAboveThePageUntilItIsClosed)
{
    const auto& notice = *window_.findChild<QLabel*>(QStringLiteral("notice"));
    EXPECT_FALSE(notice.isVisible());
    const std::filesystem::path bad = folder_ / "bad.tscope";
    std::ofstream(bad) << "not a recording";
    window_.open({QString::fromStdString(bad.string())});
    waitUntilSettled();
    ASSERT_TRUE(notice.isVisible());
    const OpenFile& file = window_.workspace().files().back();
    EXPECT_TRUE(notice.text().contains(QStringLiteral("bad.tscope"))) << notice.text().toStdString();
    EXPECT_TRUE(notice.text().contains(file.problem)) << notice.text().toStdString();
    EXPECT_EQ(selected(), std::vector<int>{1}) << "what was shown stays";
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    EXPECT_TRUE(tree.viewport()->rect().intersects(tree.visualRect(tree.model()->index(1, 0))))
        << "the list shows its row";
    window_.workspace().close(file.id);
    waitUntilSettled();
    EXPECT_FALSE(notice.isVisible());
    window_.open({QString::fromStdString((folder_ / "missing.tscope").string())});
    waitUntilSettled();
    EXPECT_TRUE(notice.isVisible()) << "a missing file is reported too";
}

TEST_F(PagesTest, AnotherFileIsShownWhenItIsOpened)
{
    window_.showPage(QStringLiteral("experiment"));
    const int cpu = openCpuFile();
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.workspace().selection().front().file, cpu);
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("overview"))
        << "the page of experiments shows no run";
    EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("cpu.tscope")))
        << window_.windowTitle().toStdString();
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    const QModelIndex run = tree.model()->index(0, 0, tree.model()->index(1, 0));
    EXPECT_TRUE(tree.selectionModel()->isSelected(run));
    EXPECT_TRUE(tree.viewport()->rect().contains(tree.visualRect(run).center()));
    // Opening the first one again leads back to it.
    window_.open({QString::fromStdString((folder_ / "lm.tscope").string())});
    waitUntilSettled();
    EXPECT_NE(window_.workspace().selection().front().file, cpu);
}

TEST_F(PagesTest, AGoodFileBehindABadOneIsShown)
{
    const std::filesystem::path bad = folder_ / "bad.tscope";
    std::ofstream(bad) << "not a recording";
    const std::filesystem::path good = folder_ / "good.tscope";
    test::writeCpuFile(good);
    window_.open({QString::fromStdString(bad.string()), QString::fromStdString(good.string())});
    waitUntilSettled();
    EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("good.tscope")))
        << window_.windowTitle().toStdString();
    EXPECT_TRUE(window_.findChild<QLabel*>(QStringLiteral("notice"))->isVisible());
}

TEST_F(PagesTest, TheRunListsTipIsOfReadableLines)
{
    window_.showPage(QStringLiteral("overview"));
    waitUntilSettled();
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    const QModelIndex oom = tree.model()->index(2, 0, tree.model()->index(0, 0));
    const QString tip = oom.data(Qt::ToolTipRole).toString();
    EXPECT_TRUE(tip.contains(QStringLiteral("oom: out of memory in forward"))) << tip.toStdString();
    EXPECT_FALSE(tip.contains(QStringLiteral("status:"))) << "the text for the filter is not shown";
    EXPECT_TRUE(Qt::mightBeRichText(tip)) << "so that long lines wrap";
    EXPECT_GT(tip.count(QStringLiteral("<br>")), 2);
    for (const KeyFigureCard* card :
         window_.page(QStringLiteral("overview"))->findChildren<KeyFigureCard*>()) {
        EXPECT_TRUE(card->toolTip().contains(QStringLiteral("<br>"))) << card->toolTip().toStdString();
        EXPECT_FALSE(card->accessibleName().contains(QStringLiteral(",  ")))
            << card->accessibleName().toStdString();
        EXPECT_FALSE(card->accessibleName().contains(QStringLiteral(" .")))
            << card->accessibleName().toStdString();
    }
}

TEST_F(PagesTest, EscLeavesAFindFieldAndThePageHasTheKeys)
{
    const std::pair<const char*, const char*> fields[] = {
        {"timeline", "Find on the timeline"}, {"kernels", "Filter kernels"}, {"memory", "Filter blocks"}};
    for (const auto& [name, field] : fields) {
        window_.showPage(QString::fromLatin1(name));
        waitUntilSettled();
        auto& find = named<QLineEdit>(QString::fromLatin1(field));
        QTest::keyClick(&window_, Qt::Key_Slash);
        ASSERT_TRUE(find.hasFocus()) << name;
        QTest::keyClicks(&find, QStringLiteral("mm"));
        QTest::keyClick(&find, Qt::Key_Escape);
        EXPECT_FALSE(find.hasFocus()) << name;
        EXPECT_EQ(find.text(), QStringLiteral("mm")) << "what was found stays";
        EXPECT_TRUE(window_.page(QString::fromLatin1(name))->isAncestorOf(QApplication::focusWidget()))
            << name;
    }
    QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier);
    ASSERT_TRUE(named<QLineEdit>(QStringLiteral("Filter runs")).hasFocus());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    EXPECT_TRUE(named<QTreeView>(QStringLiteral("Runs")).hasFocus());
}

TEST_F(PagesTest, EscOnTheTimelineEndsASearchAfterTheSelection)
{
    clickRail(QStringLiteral("Timeline"));
    TimelineView& view = page<TimelinePage>("timeline").view();
    auto& find = named<QLineEdit>(QStringLiteral("Find on the timeline"));
    QTest::keyClick(&window_, Qt::Key_Slash);
    QTest::keyClicks(&find, QStringLiteral("softmax"));
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return view.scene().found && !view.scene().found->empty(); }, kTimeoutMs));
    QTest::keyClick(&find, Qt::Key_Return);
    waitUntilSettled();
    ASSERT_TRUE(view.scene().selected);
    QTest::keyClick(&find, Qt::Key_Escape);
    ASSERT_TRUE(view.hasFocus());
    const TimeWindow before = view.window();
    QTest::keyClick(&view, Qt::Key_W);
    EXPECT_NE(view.window(), before) << "W zooms and is not typed";
    QTest::keyClick(&view, Qt::Key_Escape);
    EXPECT_FALSE(view.scene().selected);
    EXPECT_EQ(find.text(), QStringLiteral("softmax"));
    QTest::keyClick(&view, Qt::Key_Escape);
    waitUntilSettled();
    EXPECT_TRUE(find.text().isEmpty());
    EXPECT_FALSE(view.scene().found && !view.scene().found->empty());
}

TEST_F(PagesTest, AWindowThatOpensOnAPageGivesItTheKeys)
{
    for (const char* name : {"timeline", "kernels", "memory"}) {
        MainWindow another;
        another.open({QString::fromStdString((folder_ / "lm.tscope").string())});
        ASSERT_TRUE(another.showPage(QString::fromLatin1(name)));
        another.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&another, kTimeoutMs));
        another.activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&another, kTimeoutMs));
        waitUntilSettled();
        const auto hasKeys = [&] {
            const QWidget* focus = QApplication::focusWidget();
            return focus != nullptr && another.page(QString::fromLatin1(name))->isAncestorOf(focus) &&
                   qobject_cast<const QLineEdit*>(focus) == nullptr;
        };
        EXPECT_TRUE(QTest::qWaitFor(hasKeys, kTimeoutMs)) << name;
        another.close();
    }
    window_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window_, kTimeoutMs));
}

TEST_F(PagesTest, CommandsOfTheMenusWorkWhileTextIsTyped)
{
    window_.showPage(QStringLiteral("experiment"));
    waitUntilSettled();
    std::vector<QWidget*> fields{&named<QLineEdit>(QStringLiteral("Filter runs")),
                                 window_.findChild<QPlainTextEdit*>(QStringLiteral("spec"))};
    for (QWidget* field : fields) {
        ASSERT_NE(field, nullptr);
        for (QAction* action : window_.menuBar()->findChildren<QAction*>()) {
            const QKeySequence keys = action->shortcut();
            if (keys.isEmpty() || !keys[0].keyboardModifiers().testFlag(Qt::ControlModifier))
                continue;
            if (keys == QKeySequence(QKeySequence::Undo) || keys == QKeySequence(QKeySequence::Redo))
                continue; // a field undoes its own changes
            field->setFocus();
            QKeyEvent override(QEvent::ShortcutOverride, keys[0].key(), keys[0].keyboardModifiers());
            override.ignore();
            QApplication::sendEvent(field, &override);
            EXPECT_FALSE(override.isAccepted())
                << field->accessibleName().toStdString() << " takes " << keys.toString().toStdString()
                << " of " << action->text().toStdString();
        }
    }
}

TEST_F(PagesTest, CompareTakesTheFirstTwoOfManyAndAnotherChoiceKeepsTheRest)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("compare"));
    select(cpu, {1, 2, 3, 4});
    const auto& verdict =
        *window_.page(QStringLiteral("compare"))->findChild<QLabel*>(QStringLiteral("verdict"));
    EXPECT_TRUE(verdict.isVisible()) << visibleText("compare").toStdString();
    auto& a = named<QComboBox>(QStringLiteral("Run A"));
    auto& b = named<QComboBox>(QStringLiteral("Run B"));
    EXPECT_TRUE(a.currentText().contains(QStringLiteral("#1"))) << a.currentText().toStdString();
    EXPECT_TRUE(b.currentText().contains(QStringLiteral("#2"))) << b.currentText().toStdString();
    const auto choose = [](QComboBox& box, const char* run) {
        for (int i = 0; i < box.count(); ++i)
            if (box.itemText(i).startsWith(QStringLiteral("cpu ")) &&
                box.itemText(i).contains(QLatin1String(run))) {
                box.setCurrentIndex(i);
                emit box.activated(i);
                return waitUntilSettled();
            }
        FAIL() << "no " << run;
    };
    choose(b, "#4");
    EXPECT_EQ(selected(), (std::vector<int>{1, 4, 3, 2})) << "chosen and replaced change places";
    choose(b, "#5");
    EXPECT_EQ(selected(), (std::vector<int>{1, 5, 4, 3, 2})) << "one more";
    choose(a, "#5");
    EXPECT_EQ(selected(), (std::vector<int>{5, 1, 4, 3, 2}));
    select(cpu, {1, 2});
    choose(b, "#3");
    EXPECT_EQ(selected(), (std::vector<int>{1, 3})) << "of two, the one is replaced";
    choose(b, "#1");
    EXPECT_EQ(selected(), (std::vector<int>{3, 1})) << "a run is not compared with itself";
}

TEST_F(PagesTest, CompareOfUntracedRunsSaysWhatIsMissingAndShowsNoEmptyPlot)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("compare"));
    select(cpu, {3, 4});
    auto& compare = page<ComparePage>("compare");
    EXPECT_FALSE(compare.findChild<MemoryPlot*>()->isVisible());
    EXPECT_FALSE(named<TableView>(QStringLiteral("Kernels by difference")).isVisible());
    const QString text = visibleText("compare");
    EXPECT_TRUE(text.contains(QStringLiteral("Neither run was traced"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("trace: kernels"))) << text.toStdString();
    EXPECT_FALSE(text.contains(QStringLiteral("±0"))) << text.toStdString();
    select(cpu, {1, 4});
    EXPECT_TRUE(compare.findChild<MemoryPlot*>()->isVisible()) << "A has its memory";
    EXPECT_TRUE(visibleText("compare").contains(QStringLiteral("B was not traced")))
        << visibleText("compare").toStdString();
}

TEST_F(PagesTest, CompareShowsCausesThatAddUpToTheChange)
{
    select(window_.workspace().files().front().id, {1, 2});
    window_.showPage(QStringLiteral("compare"));
    waitUntilSettled();
    const TableData causes = named<TableView>(QStringLiteral("Families by difference")).table();
    ASSERT_GT(causes.rows.size(), 4U);
    double sum = 0;
    for (const TableRow& row : causes.rows)
        if (!row.strong)
            sum += row.cells[3].signedBar;
    EXPECT_TRUE(causes.rows.back().strong);
    EXPECT_NEAR(sum, causes.rows.back().cells[3].signedBar, 1e-9);
    EXPECT_EQ(causes.rows.back().cells[0].text, QStringLiteral("change of the median step"));
}

TEST_F(PagesTest, CompareOnACpuHasFamilies)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("compare"));
    select(cpu, {1, 2});
    const TableView& families = named<TableView>(QStringLiteral("Families by difference"));
    ASSERT_TRUE(families.isVisible());
    showGroups(QStringLiteral("families"));
    const TableView& ops = named<TableView>(QStringLiteral("Kernels by difference"));
    ASSERT_GT(ops.table().rows.size(), 3U);
    std::map<QString, double> sums;
    for (const TableRow& row : ops.table().rows) {
        EXPECT_FALSE(row.cells[1].text.isEmpty()) << row.cells[0].text.toStdString();
        sums[row.cells[1].text] += row.cells[5].sort;
    }
    ASSERT_EQ(families.table().rows.size(), sums.size());
    for (const TableRow& row : families.table().rows)
        EXPECT_NEAR(row.cells[1].sort, sums[row.cells[0].text], 1) << row.cells[0].text.toStdString();
}

TEST_F(PagesTest, OpsOnACpuAreFilteredByFamilyCountedAndLeadToTheTimeline)
{
    const int cpu = openCpuFile();
    select(cpu, {1});
    window_.showPage(QStringLiteral("kernels"));
    waitUntilSettled();
    TableView& table = page<KernelsPage>("kernels").table();
    const int all = table.model()->rowCount();
    auto& filter = named<QLineEdit>(QStringLiteral("Filter kernels"));
    filter.setText(QStringLiteral("family:softmax"));
    const int kept = table.model()->rowCount();
    ASSERT_GT(kept, 0);
    ASSERT_LT(kept, all);
    for (int row = 0; row < kept; ++row)
        EXPECT_EQ(table.model()->index(row, int(KernelColumn::Family)).data().toString(),
                  QStringLiteral("softmax"));
    const QString summary =
        window_.page(QStringLiteral("kernels"))->findChild<QLabel*>(QStringLiteral("summary"))->text();
    EXPECT_TRUE(summary.startsWith(QStringLiteral("%1 of %2 ops, ").arg(kept).arg(all)))
        << summary.toStdString();
    clickRow(table, table.model()->index(0, 0));
    EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("1 op selected, "))) << statusText(1).toStdString();
    auto* link =
        window_.page(QStringLiteral("kernels"))->findChild<QPushButton*>(QStringLiteral("showOnTimeline"));
    ASSERT_TRUE(link != nullptr && link->isEnabled());
    const std::string op = window_.workspace().kernel().toStdString();
    for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("phase"))
            QTest::mouseClick(button, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_EQ(statusText(1), QString()) << "no group is selected";
    EXPECT_FALSE(link->isEnabled());
    for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("name"))
            QTest::mouseClick(button, Qt::LeftButton);
    waitUntilSettled();
    QTest::mouseClick(link, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    ASSERT_TRUE(scene.selected);
    const query::Timeline& timeline = *scene.sections[0].timeline;
    const query::TimelineItem& item = scene.selected->item;
    EXPECT_EQ(timeline.names[timeline.lanes[item.lane].rows[item.row].name(item.index)].text, op);
}

TEST_F(PagesTest, TheOverviewSaysWhyThereIsNoTrace)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("overview"));
    select(cpu, {5});
    QString text = visibleText("overview");
    EXPECT_TRUE(text.contains(QStringLiteral("ended before a step was traced"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("SIGKILL"))) << text.toStdString();
    EXPECT_FALSE(text.contains(QStringLiteral("set trace: kernels and trace_steps"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("1 warning, "))) << text.toStdString();
    select(cpu, {3});
    text = visibleText("overview");
    EXPECT_TRUE(text.contains(QStringLiteral("set trace: kernels and trace_steps"))) << text.toStdString();
    for (const char* list : {"Kernel families", "Ranges", "Largest allocations"})
        EXPECT_FALSE(named<TableView>(QString::fromLatin1(list)).isVisible()) << list;
    select(cpu, {1});
    for (const char* list : {"Kernel families", "Ranges", "Largest allocations"})
        EXPECT_TRUE(named<TableView>(QString::fromLatin1(list)).isVisible()) << list;
}

TEST_F(PagesTest, RunsWithoutATraceShowTheTimesOfTheirSteps)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("overview"));
    const auto plots = [this] {
        std::vector<const StepsPlot*> visible;
        for (const StepsPlot* plot : window_.page(QStringLiteral("overview"))->findChildren<StepsPlot*>())
            if (plot->isVisible())
                visible.push_back(plot);
        return visible;
    };
    select(cpu, {1});
    EXPECT_TRUE(plots().empty()) << "what its steps are made of says more";
    select(cpu, {3});
    ASSERT_EQ(plots().size(), 1U);
    const query::FileSession session(folder_ / "cpu.tscope");
    int steps = 0;
    for (const query::SampleRow& row : query::samples(session.reader(), RunId{3}).rows)
        steps += row.sample.phase == Phase::Step ? 1 : 0;
    EXPECT_EQ(plots().front()->dots(), steps);
    EXPECT_FALSE(named<TableView>(QStringLiteral("Ranges")).isVisible()) << "there is nothing in it";
    select(cpu, {3, 4});
    EXPECT_EQ(plots().size(), 2U);
    select(cpu, {1, 3});
    EXPECT_TRUE(plots().empty());
    EXPECT_TRUE(named<TableView>(QStringLiteral("Ranges")).isVisible());
}

TEST_F(PagesTest, MessagesFitTheSelectedRuns)
{
    const int cpu = openCpuFile();
    window_.showPage(QStringLiteral("overview"));
    select(cpu, {3, 4});
    for (const KeyFigureCard* card : window_.page(QStringLiteral("overview"))->findChildren<KeyFigureCard*>())
        if (card->isVisible()) {
            EXPECT_FALSE(card->figure().title.contains(QStringLiteral("GPU"))) << "they ran on the CPU";
        }
    const auto* machine = window_.page(QStringLiteral("overview"))->findChild<KeyValueTable*>();
    ASSERT_EQ(machine->rows().size(), 1U);
    EXPECT_TRUE(machine->rows().front().key.contains(QStringLiteral("recorded nothing about its machine")));
    window_.showPage(QStringLiteral("timeline"));
    waitUntilSettled();
    EXPECT_TRUE(visibleText("timeline").contains(QStringLiteral("None of the selected runs was traced.")));
    select(cpu, {3});
    EXPECT_TRUE(visibleText("timeline").contains(QStringLiteral("This run was not traced.")));
    window_.showPage(QStringLiteral("machine"));
    select(cpu, {1, 2, 3, 4, 5});
    EXPECT_TRUE(visibleText("machine").contains(QStringLiteral("the first 4 of 5 runs")))
        << visibleText("machine").toStdString();
}

TEST_F(PagesTest, RunsThatEndedBeforeTheirTraceAreNotToldToTrace)
{
    const std::filesystem::path path = folder_ / "failed.tscope";
    test::writeFailedFile(path);
    window_.open({QString::fromStdString(path.string())});
    waitUntilSettled();
    const int file = window_.workspace().files().back().id;
    for (const auto& [run, reason] :
         {std::pair(2, "timed out after 600"), {3, "SIGSEGV"}, {5, "a CPU cannot run backend flash"}})
        for (const char* page : {"overview", "timeline", "flame", "kernels", "memory"}) {
            window_.showPage(QString::fromLatin1(page));
            select(file, {run});
            const QString text = visibleText(page);
            EXPECT_TRUE(text.contains(QString::fromLatin1(reason))) << page << ", run " << run;
            EXPECT_FALSE(text.contains(QStringLiteral("trace_steps"))) << page << ", run " << run;
        }
    window_.showPage(QStringLiteral("compare"));
    select(file, {1, 2});
    EXPECT_TRUE(visibleText("compare").contains(QStringLiteral("B: The run ended before a step was traced")));
    EXPECT_FALSE(visibleText("compare").contains(QStringLiteral("trace_steps")));
    window_.showPage(QStringLiteral("machine"));
    select(file, {2});
    EXPECT_TRUE(visibleText("machine").contains(QStringLiteral("nothing was recorded about it")));
}

TEST_F(PagesTest, TheStudyMenuBeginsWithAHeading)
{
    window_.showPage(QStringLiteral("experiment"));
    waitUntilSettled();
    const auto* studies = window_.findChild<QPushButton*>(QStringLiteral("studies"));
    ASSERT_FALSE(studies->menu()->actions().isEmpty());
    EXPECT_FALSE(studies->menu()->actions().front()->isSeparator());
}

// A change of theme takes several turns of the event loop; the window keeps its picture until it is complete.
TEST_F(WindowTest, AChangeOfThemeIsSeenWholeAndIsThatOfAFreshStart)
{
    const auto pages = window_.pageNames();
    for (const QString& name : pages) {
        window_.showPage(name);
        waitUntilSettled();
    }
    const auto pictures = [&] {
        std::vector<QImage> all;
        for (const QString& name : pages) {
            window_.showPage(name);
            waitUntilSettled();
            all.push_back(window_.grab().toImage());
        }
        return all;
    };
    const std::vector<QImage> light = pictures();
    Theme::instance().apply(ThemeChoice::Dark);
    const std::vector<QImage> dark = pictures();
    Theme::instance().apply(ThemeChoice::Light);
    waitUntilSettled();

    Theme::instance().change(ThemeChoice::Dark);
    int turns = 0;
    for (; Theme::instance().isChanging(); ++turns) {
        EXPECT_FALSE(window_.updatesEnabled()) << "turn " << turns;
        QApplication::processEvents(QEventLoop::ExcludeUserInputEvents, 1);
    }
    EXPECT_GT(turns, 2);
    EXPECT_TRUE(window_.updatesEnabled());
    const std::vector<QImage> changed = pictures();
    Theme::instance().change(ThemeChoice::Light);
    Theme::instance().change(ThemeChoice::Dark); // while the change to light is under way
    EXPECT_FALSE(Theme::instance().isChanging()) << "it is applied at once";
    EXPECT_TRUE(window_.updatesEnabled());
    Theme::instance().change(ThemeChoice::Light);
    waitUntilSettled();
    const std::vector<QImage> back = pictures();
    for (std::size_t i = 0; i < std::size(dark); ++i) {
        EXPECT_TRUE(changed[i] == dark[i]) << pages[qsizetype(i)].toStdString();
        EXPECT_TRUE(back[i] == light[i]) << pages[qsizetype(i)].toStdString();
    }
}

} // namespace
} // namespace tilescope::ui
