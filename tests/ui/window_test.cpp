// The window as a person uses it: a recording is opened, and everything else is done by mouse and keyboard.

#include "tests/ui/window_fixture.h"
#include "ui/jobs/job_tracker.h"
#include "ui/models/kernel_rows.h"
#include "ui/models/run_tree_model.h"
#include "ui/pages/charts_page.h"
#include "ui/pages/help_page.h"
#include "ui/pages/kernels_page.h"
#include "ui/pages/key_value_table.h"
#include "ui/pages/memory_page.h"
#include "ui/pages/run_dock.h"
#include "ui/pages/timeline_page.h"
#include "ui/plots/chart_plot.h"
#include "ui/plots/exporter.h"
#include "ui/plots/key_figure_card.h"
#include "ui/plots/roofline_plot.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QTextBrowser>
#include <QTreeView>
#include <QWheelEvent>
#include <QtTest>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace tilescope::ui {
namespace {

TEST_F(WindowTest, TheRailShowsItsPages)
{
    for (const char* word : {"Kernels", "Memory", "Timeline"}) {
        clickRail(QString::fromLatin1(word));
        const QString name = QString::fromLatin1(word).toLower();
        EXPECT_TRUE(window_.page(name)->isVisible()) << word;
        for (const QString& other : window_.pageNames())
            EXPECT_EQ(window_.page(other)->isVisible(), other == name) << other.toStdString();
    }
}

TEST_F(WindowTest, TheTimelineZoomsAboutTheCursorAndMovesByKeyboard)
{
    clickRail(QStringLiteral("Timeline"));
    TimelineView& view = page<TimelinePage>("timeline").view();
    const TimeWindow whole = view.window();
    ASSERT_GT(whole.length(), 0);
    wheel(*view.viewport(), view.viewport()->rect().center(), 2, Qt::ControlModifier);
    const TimeWindow closer = view.window();
    EXPECT_NEAR(closer.length() / whole.length(), 0.64, 1e-6) << "0.8 a turn";
    EXPECT_GT(closer.from, whole.from);
    EXPECT_LT(closer.to, whole.to);

    QTest::keyClick(&view, Qt::Key_W);
    EXPECT_NEAR(view.window().length() / closer.length(), 0.7, 1e-6);
    QTest::keyClick(&view, Qt::Key_S);
    EXPECT_NEAR(view.window().length() / closer.length(), 1, 1e-6);
    const TimeWindow before = view.window();
    QTest::keyClick(&view, Qt::Key_D);
    EXPECT_NEAR(view.window().from - before.from, 0.15 * before.length(), 1);
    QTest::keyClick(&view, Qt::Key_A);
    EXPECT_NEAR(view.window().from, before.from, 1);
    QTest::keyClick(&view, Qt::Key_F);
    EXPECT_NEAR(view.window().from, whole.from, 1);
    EXPECT_NEAR(view.window().to, whole.to, 1);
}

TEST_F(WindowTest, AClickSelectsAKernelAndAFilterKeepsThoseOfItsName)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const int rows = table.model()->rowCount();
    ASSERT_GT(rows, 3);
    const QModelIndex second = table.model()->index(1, 0);
    clickRow(table, second);
    EXPECT_EQ(table.currentIndex().row(), 1);
    const QString chosen = window_.workspace().kernel();
    EXPECT_FALSE(chosen.isEmpty());
    QTest::keyClick(&table, Qt::Key_Down);
    EXPECT_EQ(table.currentIndex().row(), 2);
    EXPECT_NE(window_.workspace().kernel(), chosen) << "the keyboard selects as the mouse does";

    QTest::keyClick(&table, Qt::Key_Slash);
    auto& filter = named<QLineEdit>(QStringLiteral("Filter kernels"));
    QTest::keyClicks(&filter, QStringLiteral("softmax"));
    const int kept = table.model()->rowCount();
    EXPECT_GT(kept, 0);
    EXPECT_LT(kept, rows);
    filter.clear();
    EXPECT_EQ(table.model()->rowCount(), rows);
}

TEST_F(WindowTest, AKernelLeadsToTheTimelineWhereItIsSelected)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    clickRow(table, table.model()->index(2, 0));
    const std::string kernel = window_.workspace().kernel().toStdString();
    QTest::keyClick(&table, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    ASSERT_TRUE(scene.selected);
    const query::Timeline& timeline = *scene.sections[scene.selected->section].timeline;
    const query::TimelineItem& item = scene.selected->item;
    EXPECT_EQ(timeline.names[timeline.lanes[item.lane].rows[item.row].name(item.index)].text, kernel);
}

TEST_F(WindowTest, TheStatusBarKeepsWhatIsSelectedOnAPage)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    clickRow(table, table.model()->index(1, 0));
    const QString selected = statusText(1);
    EXPECT_TRUE(selected.startsWith(QStringLiteral("1 kernel selected"))) << selected.toStdString();
    clickRail(QStringLiteral("Machine"));
    EXPECT_NE(statusText(1), selected);
    clickRail(QStringLiteral("Kernels"));
    EXPECT_EQ(statusText(1), selected);
}

TEST_F(WindowTest, ManyRunsAreDescribedByWhatVaries)
{
    const int file = window_.workspace().files()[0].id;
    const std::filesystem::path other = folder_ / "other.tscope";
    test::writeLmFile(other);
    window_.open({QString::fromStdString(other.string())});
    waitUntilSettled();
    const int second = window_.workspace().files()[1].id;
    window_.workspace().select(
        {{file, RunId{1}}, {file, RunId{2}}, {file, RunId{3}}, {second, RunId{1}}, {second, RunId{2}}});
    waitUntilSettled();
    QStringList titles;
    for (const QLabel* label : window_.dock().findChildren<QLabel*>())
        titles << label->text();
    EXPECT_TRUE(titles.contains(QStringLiteral("5 runs selected")));
    auto& details = *window_.dock().findChild<KeyValueTable*>();
    std::map<QString, QStringList> rows;
    for (const KeyValueRow& row : details.rows())
        rows[row.key] = row.values;
    EXPECT_EQ(rows[QStringLiteral("varies")], QStringList{QStringLiteral("backend")});
    EXPECT_EQ(rows[QStringLiteral("status")], QStringList{QStringLiteral("4 ok, 1 oom")});
}

TEST_F(WindowTest, KernelsAreGroupedAndAGroupOpensIntoItsKernels)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const auto total = [&table] {
        double sum = 0;
        for (int row = 0; row < table.model()->rowCount(); ++row)
            sum += table.model()->index(row, int(KernelColumn::Total)).data(TableModel::SortRole).toDouble();
        return sum;
    };
    const double all = total();
    ASSERT_GT(all, 0);
    for (const char* word : {"family", "range", "module", "phase"}) {
        for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
            if (button->text() == QLatin1String(word))
                QTest::mouseClick(button, Qt::LeftButton);
        waitUntilSettled();
        EXPECT_NEAR(total(), all, 1) << word << ": the same time, grouped otherwise";
    }
    ASSERT_EQ(table.model()->rowCount(), 4) << "forward, loss, backward, optimizer";
    const double first =
        table.model()->index(0, int(KernelColumn::Total)).data(TableModel::SortRole).toDouble();
    clickRow(table, table.model()->index(0, 0));
    table.setFocus();
    QTest::keyClick(&table, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_NEAR(total(), first, 1) << "the kernels of that phase alone";
    EXPECT_EQ(table.model()->headerData(0, Qt::Horizontal).toString(), QStringLiteral("Kernel"));
}

TEST_F(WindowTest, ABubbleOfTheRooflineIsARowOfTheTable)
{
    clickRail(QStringLiteral("Kernels"));
    KernelsPage& kernels = page<KernelsPage>("kernels");
    RooflinePlot& roofline = kernels.roofline();
    ASSERT_GT(roofline.bubbles().size(), 1U) << "the linears have shapes";
    QTest::qWait(50); // the plot draws itself when the window is idle
    const RooflineBubble& smallest = roofline.bubbles().back();
    std::optional<QPoint> at;
    for (int y = 0; y < roofline.height() && !at; ++y)
        for (int x = 0; x < roofline.width() && !at; ++x)
            if (roofline.bubbleAt(QPointF(x, y)) == smallest.id)
                at = QPoint(x, y);
    ASSERT_TRUE(at);
    QTest::mouseClick(&roofline, Qt::LeftButton, {}, *at + QPoint(2, 2));
    waitUntilSettled();
    EXPECT_EQ(kernels.table().currentId(), smallest.id);
}

TEST_F(WindowTest, ColumnsThatAreHiddenStayHiddenAndAreNotExported)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const std::size_t columns = table.shown().columns.size();
    QMenu menu;
    table.fillColumnMenu(menu);
    for (QAction* action : menu.actions())
        if (action->text() == QLatin1String("Share, %"))
            action->trigger();
    EXPECT_TRUE(table.isColumnHidden(int(KernelColumn::Share)));
    EXPECT_EQ(table.shown().columns.size(), columns - 1);
    EXPECT_EQ(table.shown().rows.front().cells.size(), columns - 1);
    for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("family"))
            QTest::mouseClick(button, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_TRUE(table.isColumnHidden(int(KernelColumn::Share)));
}

TEST_F(WindowTest, MemoryIsReadZoomedAndMovedByMouse)
{
    clickRail(QStringLiteral("Memory"));
    MemoryPlot& plot = page<MemoryPage>("memory").plot();
    ASSERT_EQ(plot.series().size(), 1U);
    const TimeWindow whole = plot.window();
    const QPoint centre = plot.axisRect()->center();
    wheel(plot, centre, 3);
    const TimeWindow closer = plot.window();
    EXPECT_NEAR(closer.length() / whole.length(), 0.512, 1e-3) << "0.8 a turn";

    drag(plot, centre, centre + QPoint(60, 0));
    const double moved = 60.0 / plot.axisRect()->width() * closer.length();
    EXPECT_NEAR(plot.window().from, closer.from - moved, 0.02 * closer.length());
    EXPECT_NEAR(plot.window().length(), closer.length(), 1);

    // The fixture's first peak: 131 MiB of parameters, 92 of activations, 36 of gradients.
    QTest::keyClick(&plot, Qt::Key_F);
    EXPECT_NEAR(plot.window().length(), whole.length(), 1);
    const query::StepCurve& curve = plot.series().front().lane->allocated;
    const double peak = double(curve.time(curve.peak()) - plot.series().front().zero) / 1e6;
    moveTo(plot, QPoint(int(plot.xAxis->coordToPixel(peak)) + 2, centre.y()));
    EXPECT_TRUE(statusText(0).contains(QStringLiteral("allocated 259"))) << statusText(0).toStdString();
    EXPECT_TRUE(statusText(0).contains(QStringLiteral("reserved 260"))) << statusText(0).toStdString();
}

TEST_F(WindowTest, TheBlocksAtThePeakAreListedAndFiltered)
{
    clickRail(QStringLiteral("Memory"));
    TableView& table = page<MemoryPage>("memory").table();
    ASSERT_EQ(table.model()->rowCount(), 12);
    EXPECT_EQ(table.model()->index(0, 0).data().toString(), QStringLiteral("setup"));
    EXPECT_EQ(table.model()->index(0, 2).data().toString(), QStringLiteral("parameters"));
    clickRow(table, table.model()->index(1, 0));
    EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("1 block selected, 20.0")))
        << statusText(1).toStdString();
    QTest::keyClicks(&named<QLineEdit>(QStringLiteral("Filter blocks")), QStringLiteral("gradients"));
    EXPECT_EQ(table.model()->rowCount(), 4);
}

TEST_F(WindowTest, TheRunListFiltersAndItsSelectionIsWhatPagesShow)
{
    clickRail(QStringLiteral("Memory"));
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    auto& filter = named<QLineEdit>(QStringLiteral("Filter runs"));
    const auto runs = [&tree] { return tree.model()->rowCount(tree.model()->index(0, 0)); };
    const auto run = [&tree](int row) { return tree.model()->index(row, 0, tree.model()->index(0, 0)); };
    ASSERT_EQ(runs(), 3);
    QTest::keyClicks(&filter, QStringLiteral("status:oom"));
    EXPECT_EQ(runs(), 1);
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.workspace().selection().front().run, RunId{1}) << "hidden, yet what pages show";
    filter.clear();
    EXPECT_EQ(runs(), 3);
    EXPECT_TRUE(tree.selectionModel()->isSelected(run(0)));

    clickRow(tree, run(1));
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.workspace().selection().front().run, RunId{2});
    MemoryPage& memory = page<MemoryPage>("memory");
    EXPECT_EQ(memory.table().model()->rowCount(), 10) << "without the two score matrices";
    clickRow(tree, run(0), Qt::ControlModifier);
    EXPECT_EQ(window_.workspace().selection().size(), 2U);
    EXPECT_EQ(memory.plot().series().size(), 2U);

    clickRow(tree, run(2));
    EXPECT_FALSE(memory.plot().isVisible()) << "a run without a trace says so instead";
    EXPECT_TRUE(memory.plot().series().empty());
}

TEST_F(WindowTest, TheRunListShowsTheColumnsThatAreWantedAndSortsByThem)
{
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    EXPECT_TRUE(tree.isColumnHidden(RunTreeModel::Backend));
    QMenu& menu = *named<QPushButton>(QStringLiteral("Columns of the run list")).menu();
    QMetaObject::invokeMethod(&menu, "aboutToShow");
    QStringList titles;
    for (QAction* action : menu.actions()) {
        titles << action->text();
        if (action->text() == QLatin1String("Backend"))
            action->trigger();
    }
    for (const char* title :
         {"Status", "Workload", "Backend", "Size", "Type", "Step, ms", "Peak, MiB", "Flags"})
        EXPECT_TRUE(titles.contains(QLatin1String(title))) << title;
    ASSERT_FALSE(tree.isColumnHidden(RunTreeModel::Backend));
    const QHeaderView& header = *tree.header();
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {},
                      {header.sectionViewportPosition(RunTreeModel::Backend) + 5, header.height() / 2});
    waitUntilSettled();
    QStringList backends;
    for (int row = 0; row < 3; ++row)
        backends
            << tree.model()->index(row, RunTreeModel::Backend, tree.model()->index(0, 0)).data().toString();
    QStringList sorted = backends;
    sorted.sort();
    if (tree.header()->sortIndicatorOrder() == Qt::DescendingOrder)
        std::reverse(sorted.begin(), sorted.end());
    EXPECT_EQ(backends, sorted);
    EXPECT_NE(backends.front(), backends.back());
    const MainWindow another;
    for (const QTreeView* other : another.findChildren<QTreeView*>())
        EXPECT_FALSE(other->isColumnHidden(RunTreeModel::Backend)) << "remembered";
}

TEST_F(WindowTest, ItemsOfTheOverviewLeadToTheirPages)
{
    clickRail(QStringLiteral("Overview"));
    auto& families = named<TableView>(QStringLiteral("Kernel families"));
    families.setFocus();
    clickRow(families, families.model()->index(1, 0));
    const QString family = families.model()->index(1, 0).data().toString();
    QTest::keyClick(&families, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("kernels"));
    TableView& kernels = page<KernelsPage>("kernels").table();
    ASSERT_GT(kernels.model()->rowCount(), 0);
    for (int row = 0; row < kernels.model()->rowCount(); ++row)
        EXPECT_EQ(kernels.model()->index(row, int(KernelColumn::Family)).data().toString(), family);

    clickRail(QStringLiteral("Overview"));
    auto& ranges = named<TableView>(QStringLiteral("Ranges"));
    ranges.setFocus();
    const QModelIndex forward = ranges.model()->match(ranges.model()->index(0, 0), Qt::DisplayRole,
                                                      QStringLiteral("forward"), 1, Qt::MatchExactly)[0];
    clickRow(ranges, forward);
    QTest::keyClick(&ranges, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    EXPECT_EQ(named<QComboBox>(QStringLiteral("Align runs at")).currentText(), QStringLiteral("forward"));
    const TimelineView& view = page<TimelinePage>("timeline").view();
    const query::TimelineStep& step = *view.scene().sections[0].step;
    EXPECT_LT(view.window().length(), double(step.end - step.start)) << "the range fills the view";

    clickRail(QStringLiteral("Overview"));
    for (KeyFigureCard* card : window_.findChildren<KeyFigureCard*>())
        if (card->accessibleName().startsWith(QStringLiteral("Peak memory")))
            QTest::mouseClick(card, Qt::LeftButton);
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("memory"));
}

TEST_F(WindowTest, MoreRunsThanTwoAreListedOnTheOverview)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}, {file, RunId{3}}});
    clickRail(QStringLiteral("Overview"));
    auto& runs = named<TableView>(QStringLiteral("Selected runs"));
    EXPECT_TRUE(runs.isVisible());
    EXPECT_EQ(runs.model()->rowCount(), 3);
    runs.setFocus();
    clickRow(runs, runs.model()->index(1, 0));
    QTest::keyClick(&runs, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.workspace().selection(), (std::vector<RunKey>{{file, RunId{2}}}));
    EXPECT_FALSE(runs.isVisible());
}

TEST_F(WindowTest, EveryPageIsReachedByItsKeyAndExplainedByF1)
{
    for (int i = 0; i < window_.pageNames().size(); ++i) {
        QTest::keyClick(&window_, Qt::Key(Qt::Key_1 + i), Qt::ControlModifier);
        waitUntilSettled();
        const QString name = window_.currentPageName();
        EXPECT_EQ(name, window_.pageNames()[i]);
        QTest::keyClick(&window_, Qt::Key_F1);
        waitUntilSettled();
        EXPECT_EQ(window_.currentPageName(), QStringLiteral("help"));
        const QString topic = page<HelpPage>("help").topic();
        EXPECT_EQ(topic, name == QLatin1String("help") ? QStringLiteral("start") : name)
            << "a page without help";
    }
}

TEST_F(WindowTest, TheListOfKeysHasEveryKeyOfTheMenus)
{
    window_.showHelp(QStringLiteral("keys"));
    const QString keys = window_.findChild<QTextBrowser*>()->toPlainText();
    for (const QAction* action : window_.menuBar()->findChildren<QAction*>()) {
        const QString key = action->shortcut().toString();
        if (key.isEmpty() || (key.startsWith(QLatin1String("Ctrl+")) && key.back().isDigit()))
            continue;
        EXPECT_TRUE(keys.contains(key)) << key.toStdString() << ": " << action->text().toStdString();
    }
}

TEST_F(WindowTest, AFormMakesTheChartAndItsRecipe)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    clickRail(QStringLiteral("Charts"));
    ChartsPage& charts = page<ChartsPage>("charts");
    ChartRecipe recipe = charts.recipe();
    recipe.x = QStringLiteral("batch");
    charts.setRecipe(recipe);
    EXPECT_EQ(charts.chart().series.size(), 2U);
    auto& facet = named<QComboBox>(QStringLiteral("Facet"));
    facet.setFocus();
    QTest::keyClicks(&facet, QStringLiteral("backend"));
    emit facet.activated(facet.currentIndex());
    EXPECT_EQ(charts.plot().panels().size(), 2U);
    auto& filter = named<QLineEdit>(QStringLiteral("Filter of the chart"));
    QTest::keyClicks(&filter, QStringLiteral("backend=flash"));
    QTest::keyClick(&filter, Qt::Key_Return);
    EXPECT_EQ(charts.plot().panels().size(), 1U);
    auto& width = named<QDoubleSpinBox>(QStringLiteral("Width"));
    width.setValue(5);
    EXPECT_DOUBLE_EQ(charts.recipe().paper.width, 5);
    EXPECT_EQ(named<QComboBox>(QStringLiteral("Preset")).currentText(), QStringLiteral("own size"));
    EXPECT_TRUE(charts.chart().caption.contains(QStringLiteral("NVIDIA H200")))
        << charts.chart().caption.toStdString();
    EXPECT_EQ(ChartRecipe::fromJson(charts.recipe().toJson().toUtf8(), {}), charts.recipe());
}

TEST_F(WindowTest, ADifferenceLeadsToTheAlignedTimeline)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    clickRail(QStringLiteral("Compare"));
    for (QPushButton* button : window_.page(QStringLiteral("compare"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("ranges"))
            QTest::mouseClick(button, Qt::LeftButton);
    auto& ranges = named<TableView>(QStringLiteral("Families by difference"));
    ranges.setFocus();
    clickRow(ranges, ranges.model()->index(0, 0));
    const QString range = ranges.model()->index(0, 0).data().toString();
    QTest::keyClick(&ranges, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    EXPECT_EQ(named<QComboBox>(QStringLiteral("Align runs at")).currentText(), range);
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    ASSERT_EQ(scene.sections.size(), 2U);
    EXPECT_GT(scene.sections[0].alignAt, 0);
    EXPECT_GT(scene.sections[1].alignAt, 0);
}

TEST_F(WindowTest, WhateverTakesTheKeyboardHasANameAndTabReachesIt)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        std::set<QWidget*> wanted;
        for (QWidget* widget : window_.findChildren<QWidget*>()) {
            if (!widget->isVisible() || !widget->isEnabled() || !(widget->focusPolicy() & Qt::TabFocus) ||
                widget->focusProxy() != nullptr || widget->inherits("QMenuBar"))
                continue;
            const auto* button = qobject_cast<QAbstractButton*>(widget);
            const bool isPart = qobject_cast<QLineEdit*>(widget) != nullptr &&
                                qobject_cast<QAbstractSpinBox*>(widget->parentWidget()) != nullptr;
            if (isPart || widget->objectName().startsWith(QLatin1String("qt_")))
                continue;
            wanted.insert(widget);
            EXPECT_TRUE(!widget->accessibleName().isEmpty() ||
                        (button != nullptr && !button->text().isEmpty()))
                << name.toStdString() << ": a " << widget->metaObject()->className() << " in a "
                << widget->parentWidget()->metaObject()->className() << " has no accessible name";
        }
        const std::size_t all = wanted.size();
        ASSERT_GT(all, 3U) << name.toStdString();
        std::set<const QWidget*> seen;
        for (QWidget* at = &window_; seen.insert(at).second; at = at->nextInFocusChain())
            wanted.erase(at);
        EXPECT_TRUE(wanted.empty()) << name.toStdString() << ": Tab never comes to " << wanted.size()
                                    << " of " << all;
    }
}

TEST_F(WindowTest, EveryViewOfEveryPageLeavesItAsPictureAndMostAsTable)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        for (const Exportable& view : exportablesOf(*window_.page(name), name)) {
            EXPECT_FALSE(view.name.isEmpty()) << name.toStdString();
            if (view.size.isEmpty())
                continue;
            const QString base = QString::fromStdString((folder_ / "export").string());
            writeExport(view, {ExportFormat::Svg, view.size, 1, view.name}, base + QStringLiteral(".svg"));
            EXPECT_GT(QFileInfo(base + QStringLiteral(".svg")).size(), 400)
                << name.toStdString() << ": " << view.name.toStdString();
            if (!view.table)
                continue;
            writeExport(view, {ExportFormat::Csv, view.size, 1, view.name}, base + QStringLiteral(".csv"));
            QFile csv(base + QStringLiteral(".csv"));
            ASSERT_TRUE(csv.open(QIODevice::ReadOnly));
            EXPECT_EQ(csv.readAll().count('\n'), qsizetype(view.table->rows.size()) + 1)
                << name.toStdString() << ": " << view.name.toStdString();
        }
    }
}

TEST_F(WindowTest, EveryModelKeepsItsPromisesWhileRunsAndPagesChange)
{
    for (const QString& name : window_.pageNames())
        window_.page(name); // made only now
    constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;
    std::vector<std::unique_ptr<QAbstractItemModelTester>> testers;
    for (TableView* table : window_.findChildren<TableView*>()) {
        testers.push_back(std::make_unique<QAbstractItemModelTester>(table->model(), kFatal));
        testers.push_back(std::make_unique<QAbstractItemModelTester>(table->filter().sourceModel(), kFatal));
    }
    for (QTreeView* tree : window_.findChildren<QTreeView*>())
        testers.push_back(std::make_unique<QAbstractItemModelTester>(tree->model(), kFatal));
    EXPECT_GT(testers.size(), 20U);
    const int file = window_.workspace().files()[0].id;
    for (const std::vector<RunKey>& runs : {std::vector<RunKey>{{file, RunId{2}}},
                                            {{file, RunId{1}}, {file, RunId{2}}},
                                            {{file, RunId{3}}},
                                            {}}) {
        window_.workspace().select(runs);
        for (const QString& name : window_.pageNames()) {
            window_.showPage(name);
            waitUntilSettled();
        }
    }
}

TEST_F(WindowTest, TwoRunsAreComparedAndSwapped)
{
    const std::vector<RunKey> both{{window_.workspace().files()[0].id, RunId{1}},
                                   {window_.workspace().files()[0].id, RunId{2}}};
    window_.workspace().select(both);
    clickRail(QStringLiteral("Compare"));
    const auto verdict = [this] {
        return window_.page(QStringLiteral("compare"))
            ->findChild<QLabel*>(QStringLiteral("verdict"))
            ->text()
            .toStdString();
    };
    EXPECT_NE(verdict().find("B is faster"), std::string::npos) << verdict();
    QTest::keyClick(&window_, Qt::Key_X);
    EXPECT_TRUE(QTest::qWaitFor([&] { return verdict().find("B is slower") != std::string::npos; }))
        << verdict();
    EXPECT_EQ(window_.workspace().selectedRuns()[0].letter, QStringLiteral("A"));
    EXPECT_EQ(window_.workspace().selectedRuns()[0].key.run, RunId{2});
}

TEST_F(WindowTest, ADamagedFileSaysWhyInTheWindow)
{
    window_.workspace().close(window_.workspace().files()[0].id);
    const std::filesystem::path file = folder_ / "broken.tscope";
    std::ofstream(file) << "this is no recording";
    window_.open({QString::fromStdString(file.string())});
    clickRail(QStringLiteral("Overview"));
    QStringList texts;
    for (const QLabel* label : window_.page(QStringLiteral("overview"))->findChildren<QLabel*>())
        if (label->isVisible())
            texts << label->text();
    EXPECT_TRUE(texts.join(QLatin1Char('\n')).contains(QStringLiteral("broken.tscope")))
        << texts.join(QLatin1Char('\n')).toStdString();
}

TEST_F(WindowTest, TheTimelineFindsAndStepsThroughWhatItFound)
{
    clickRail(QStringLiteral("Timeline"));
    TimelineView& view = page<TimelinePage>("timeline").view();
    QTest::keyClick(&window_, Qt::Key_Slash);
    auto& field = named<QLineEdit>(QStringLiteral("Find on the timeline"));
    ASSERT_TRUE(field.hasFocus());
    QTest::keyClicks(&field, QStringLiteral("softmax"));
    auto& count = *window_.page(QStringLiteral("timeline"))->findChild<QLabel*>(QStringLiteral("found"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return count.text().toInt() > 2; })) << count.text().toStdString();
    ASSERT_TRUE(view.scene().found);
    EXPECT_FALSE(view.scene().found->empty());
    QTest::keyClick(&field, Qt::Key_Return);
    waitUntilSettled();
    ASSERT_TRUE(view.scene().selected);
    const SectionItem first = *view.scene().selected;
    EXPECT_TRUE(count.text().startsWith(QStringLiteral("1/"))) << count.text().toStdString();
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_N);
    waitUntilSettled();
    EXPECT_TRUE(count.text().startsWith(QStringLiteral("2/"))) << count.text().toStdString();
    EXPECT_NE(*view.scene().selected, first);
    QTest::keyClick(&view, Qt::Key_N, Qt::ShiftModifier);
    waitUntilSettled();
    EXPECT_EQ(*view.scene().selected, first);
    QTest::keyClick(&view, Qt::Key_M);
    ASSERT_TRUE(view.scene().span);
    const query::Track& row = view.scene().sections[0].timeline->lanes[first.item.lane].rows[first.item.row];
    EXPECT_DOUBLE_EQ(view.scene().span->length(), double(row.length(first.item.index)));
}

TEST_F(WindowTest, TwoRunsOfEqualLengthEndTogether)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    clickRail(QStringLiteral("Timeline"));
    TimelineView& view = page<TimelinePage>("timeline").view();
    const auto endOf = [&](std::size_t section) {
        const TimelineSection& shown = view.scene().sections[section];
        return shown.toAxis(double(shown.step->end));
    };
    ASSERT_EQ(view.scene().sections.size(), 2U);
    EXPECT_GT(endOf(0), endOf(1) * 1.01) << "flash is faster";
    for (QPushButton* button : window_.page(QStringLiteral("timeline"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("same length"))
            QTest::mouseClick(button, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_NEAR(endOf(0), endOf(1), 1);
}

} // namespace
} // namespace tilescope::ui

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    QApplication application(argc, argv);
    // Neither the settings of whoever runs the tests nor those of the test before.
    const tilescope::testing::TemporaryFolder settings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                       QString::fromStdString(settings.path().string()));
    tilescope::ui::Theme::instance().apply(tilescope::ui::ThemeChoice::Light);
    const int code = RUN_ALL_TESTS();
    tilescope::ui::finishBackgroundWork();
    return code;
}
