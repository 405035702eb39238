// The window as a person uses it: a recording is opened, and everything else is done by mouse and keyboard.

#include "tests/ui/test_application.h"
#include "tests/ui/window_fixture.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/charts_page.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/exporter.h"
#include "ui/kit/table_view.h"
#include "ui/overview/flag_list.h"
#include "ui/overview/key_figure_card.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/help_page.h"
#include "ui/window/page_exports.h"
#include "ui/window/run_dock.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QScrollArea>
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
        if (card->accessibleName().startsWith(QStringLiteral("Peak allocated")))
            QTest::mouseClick(card, Qt::LeftButton);
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("memory"));
}

TEST_F(WindowTest, TheOverviewSaysWhichRulesOfAdviceCouldNotBeJudged)
{
    test::writeStudyFile(folder_ / "study.tscope"); // of a CPU
    window_.open({QString::fromStdString((folder_ / "study.tscope").string())});
    waitUntilSettled();
    clickRail(QStringLiteral("Overview"));
    const auto texts = [this] {
        QString all;
        for (const QLabel* label : window_.page(QStringLiteral("overview"))->findChildren<QLabel*>())
            if (label->isVisible())
                all += label->text() + QLatin1Char('\n');
        return all;
    };
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return texts().contains(QStringLiteral("Not judged: launch-bound, ")); }, kTimeoutMs))
        << texts().toStdString();
    EXPECT_TRUE(texts().contains(QStringLiteral("because no GPU activity was recorded.")))
        << texts().toStdString();
    EXPECT_TRUE(texts().contains(QStringLiteral("The rules that could be judged found nothing.")))
        << texts().toStdString();
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
        QTest::keySequence(&window_, pageKey(i));
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

TEST_F(WindowTest, ChartsBeginWithAFigureOfWhateverRunsAreSelected)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    clickRail(QStringLiteral("Charts"));
    const ChartsPage& charts = page<ChartsPage>("charts");
    EXPECT_FALSE(charts.chart().series.empty()) << "x " << charts.recipe().x.toStdString();
    EXPECT_EQ(charts.recipe().x, QStringLiteral("backend")) << "in what they differ";
    EXPECT_TRUE(charts.recipe().series.isEmpty());
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
        EXPECT_TRUE(wanted.empty()) << name.toStdString() << ": Tab never reaches " << wanted.size() << " of "
                                    << all;
    }
}

TEST_F(WindowTest, TheSpecHasTheKeysWhenThePageExperimentIsFirstShown)
{
    window_.showPage(QStringLiteral("experiment"));
    waitUntilSettled();
    ASSERT_NE(QApplication::focusWidget(), nullptr);
    EXPECT_EQ(QApplication::focusWidget()->accessibleName(), QStringLiteral("Spec as YAML"));
}

TEST_F(WindowTest, TabGoesThroughTheToolsOfEveryPage)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        std::set<QWidget*> wanted;
        for (ToolBar* tools : window_.currentPage()->findChildren<ToolBar*>())
            for (QWidget* tool : tools->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
                if (tool->isVisible() && tool->isEnabled() && (tool->focusPolicy() & Qt::TabFocus) != 0)
                    wanted.insert(tool);
        std::set<const QWidget*> seen;
        while (seen.insert(QApplication::focusWidget()).second) {
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
            ASSERT_NE(QApplication::focusWidget(), nullptr);
            wanted.erase(QApplication::focusWidget());
        }
        for (const QWidget* tool : wanted)
            ADD_FAILURE() << name.toStdString() << ": Tab never reaches the "
                          << tool->metaObject()->className() << ' ' << tool->accessibleName().toStdString();
    }
}

TEST_F(WindowTest, EveryViewOfEveryPageLeavesItAsPictureAndAsTable)
{
    QStringList views;
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    clickRail(QStringLiteral("Charts"));
    ChartRecipe recipe = page<ChartsPage>("charts").recipe();
    recipe.x = QStringLiteral("batch");
    page<ChartsPage>("charts").setRecipe(recipe);
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        for (const Exportable& view : exportsOf(*window_.currentPage(), window_.dock())) {
            EXPECT_FALSE(view.name.isEmpty()) << name.toStdString();
            if (view.size.isEmpty())
                continue;
            const QString base = QString::fromStdString((folder_ / "export").string());
            writeExport(view, {ExportFormat::Svg, view.size, 1, view.name}, base + QStringLiteral(".svg"));
            EXPECT_GT(QFileInfo(base + QStringLiteral(".svg")).size(), 400)
                << name.toStdString() << ": " << view.name.toStdString();
            EXPECT_TRUE(view.hasTable() || view.name == QLatin1String("the whole page"))
                << name.toStdString() << ": " << view.name.toStdString() << " has no table";
            if (!view.hasTable())
                continue;
            writeExport(view, {ExportFormat::Csv, view.size, 1, view.name}, base + QStringLiteral(".csv"));
            QFile csv(base + QStringLiteral(".csv"));
            ASSERT_TRUE(csv.open(QIODevice::ReadOnly));
            const qsizetype lines = csv.readAll().count('\n');
            EXPECT_GT(lines, 1) << name.toStdString() << ": " << view.name.toStdString();
            if (view.table) {
                EXPECT_EQ(lines, qsizetype(view.table->rows.size()) + 1)
                    << name.toStdString() << ": " << view.name.toStdString();
            }
            views << name + QLatin1Char('/') + view.name;
        }
    }
    for (const char* view : {"overview/Key figures", "overview/Flags", "overview/Where the step goes",
                             "overview/Run list", "timeline/Timeline", "kernels/Kernels",
                             "memory/Memory over time", "compare/Samples of both runs by phase",
                             "compare/Kernels by difference", "charts/Chart", "machine/Findings"})
        EXPECT_TRUE(views.contains(QLatin1String(view)))
            << view << " is none of " << views.join(QStringLiteral(", ")).toStdString();
}

TEST_F(WindowTest, WhatHasNoMenuOfItsOwnIsCopiedByTheWindows)
{
    const auto copied = [this](QWidget& widget, const char* word) {
        QContextMenuEvent event(QContextMenuEvent::Mouse, widget.rect().center(),
                                widget.mapToGlobal(widget.rect().center()));
        QApplication::clipboard()->clear();
        QApplication::sendEvent(&widget, &event);
        for (QAction* action : QApplication::activePopupWidget()->actions())
            if (action->text() == QLatin1String(word))
                action->trigger();
        QApplication::activePopupWidget()->close();
        return QApplication::clipboard();
    };
    clickRail(QStringLiteral("Overview"));
    window_.resize(1600, 1000);
    waitUntilSettled();
    QWidget& card = *window_.findChild<KeyFigureCard*>();
    EXPECT_TRUE(copied(card, "Copy data as table")->text().startsWith(QStringLiteral("Figure\tRun\tValue")));
    EXPECT_FALSE(copied(card, "Copy as image")->image().isNull());
    auto& flags = *window_.findChild<FlagList*>();
    for (QWidget* at = flags.parentWidget(); at != nullptr; at = at->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(at))
            area->ensureWidgetVisible(&flags);
    waitUntilSettled();
    EXPECT_TRUE(copied(flags, "Copy data as table")->text().startsWith(QStringLiteral("Flag\tKind")));
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
    const auto words = [this](const char* label) {
        return window_.page(QStringLiteral("compare"))
            ->findChild<QLabel*>(QLatin1String(label))
            ->text()
            .toStdString();
    };
    EXPECT_EQ(words("verdict"), "Inconclusive") << "one run of each";
    EXPECT_NE(words("verdictSentence").find("Repeat both 5 times to decide."), std::string::npos);
    EXPECT_NE(words("verdictSentence").find("backend naive → flash"), std::string::npos);
    QTest::keyClick(&window_, Qt::Key_X);
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return words("verdictSentence").find("backend flash → naive") != std::string::npos; },
        kTimeoutMs))
        << words("verdictSentence");
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
    ASSERT_TRUE(QTest::qWaitFor([&] { return count.text().toInt() > 2; }, kTimeoutMs))
        << count.text().toStdString();
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
    const tilescope::testing::TestApplication application(argc, argv);
    tilescope::ui::Theme::instance().apply(tilescope::ui::ThemeChoice::Light);
    const int code = RUN_ALL_TESTS();
    tilescope::ui::finishBackgroundWork();
    return code;
}
