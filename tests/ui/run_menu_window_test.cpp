// What the run list, the palette and the view of a run that was out of memory let a user do.

#include "core/config/schema.h"
#include "core/config/study.h"
#include "core/store/run_writer.h"
#include "tests/ui/text_recorder.h"
#include "tests/ui/window_fixture.h"
#include "tests/unit/report/study_file.h"
#include "ui/charts/chart_sketch.h"
#include "ui/charts/figure_view.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/overview/limit_bar_plot.h"
#include "ui/overview/oom_panel.h"
#include "ui/overview/study_panel.h"
#include "ui/theme/theme.h"
#include "ui/window/command_palette.h"
#include "ui/window/help_page.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_edits.h"
#include "ui/window/run_menu.h"

#include <QClipboard>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMouseEvent>
#include <QPushButton>
#include <QScrollBar>

namespace tilescope::ui {
namespace {

class RunMenuTest : public WindowTest {
protected:
    int file() { return window_.workspace().files()[0].id; }
    RunKey run(std::int64_t number) { return {file(), RunId{number}}; }

    void fill(const std::vector<RunKey>& runs)
    {
        menu_.clear();
        fillRunMenu(menu_, window_.workspace(), window_.dock().edits(), runs);
    }

    QAction& item(const QString& text)
    {
        for (QAction* action : menu_.actions())
            if (action->text() == text)
                return *action;
        throw std::runtime_error("the menu has no " + text.toStdString());
    }

    std::size_t runsInFile() { return window_.workspace().files()[0].snapshot->runs.size(); }

    void waitForRuns(std::size_t count)
    {
        ASSERT_TRUE(QTest::qWaitFor([&] { return runsInFile() == count; }, kTimeoutMs));
        waitUntilSettled();
    }

    QMenu menu_;
};

TEST_F(RunMenuTest, ShowsARunBesideTheSelectedOne)
{
    window_.workspace().select({run(1)});
    fill({run(2)});
    item(QStringLiteral("Show as B")).trigger();
    EXPECT_EQ(window_.workspace().selection(), (std::vector{run(1), run(2)}));
    item(QStringLiteral("Show as A")).trigger();
    EXPECT_EQ(window_.workspace().selection(), (std::vector{run(2), run(1)}));
    fill({run(1)});
    item(QStringLiteral("Compare with A")).trigger();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("compare"));
    item(QStringLiteral("Show only this run")).trigger();
    EXPECT_EQ(window_.workspace().selection(), std::vector{run(1)});
}

TEST_F(RunMenuTest, CopiesTheCommandOfARun)
{
    fill({run(1)});
    item(QStringLiteral("Copy command")).trigger();
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("tilescope run lm --")))
        << QApplication::clipboard()->text().toStdString();
}

TEST_F(RunMenuTest, QueuesTheRepeatsThatAreMissing)
{
    WantedRuns wanted;
    window_.workspace().disconnect(window_.page(QStringLiteral("experiment"))); // no engine is started
    QObject::connect(&window_.workspace(), &Workspace::runsWanted, &window_,
                     [&wanted](const WantedRuns& runs) { wanted = runs; });
    fill({run(1), run(2)});
    item(QStringLiteral("Run until each has 5 repeats")).trigger();
    ASSERT_EQ(wanted.specs.size(), 2U);
    EXPECT_EQ(wanted.specs[0].repeat, 5);
    EXPECT_EQ(wanted.specs[1].backend, Backend::Flash);
    EXPECT_TRUE(wanted.onlyMissing);
    EXPECT_TRUE(wanted.file.endsWith(QStringLiteral("lm.tscope")));
}

TEST_F(RunMenuTest, NotesAndTagsARun)
{
    RunEdits& edits = window_.dock().edits();
    edits.setNote({run(2)}, QStringLiteral("fan was loud"));
    edits.setTag({run(2)}, QStringLiteral("baseline"));
    const auto two = [this] { return window_.workspace().files()[0].snapshot->find(RunId{2}); };
    ASSERT_TRUE(QTest::qWaitFor([&] { return two()->tag == "baseline"; }, kTimeoutMs));
    ASSERT_TRUE(QTest::qWaitFor([&] { return two()->note == "fan was loud"; }, kTimeoutMs));
    auto& filter = named<QLineEdit>(QStringLiteral("Filter runs"));
    filter.setText(QStringLiteral("tag:baseline"));
    waitUntilSettled();
    EXPECT_EQ(window_.dock().table().rows.size(), 1U);
}

TEST_F(RunMenuTest, DeletesRunsAndRestoresThem)
{
    const std::size_t before = runsInFile();
    fill({run(2)});
    item(QStringLiteral("Delete run")).trigger();
    waitForRuns(before - 1);
    EXPECT_EQ(window_.workspace().files()[0].snapshot->find(RunId{2}), nullptr);
    ViewHistory& history = window_.workspace().history();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !history.undoName().isEmpty(); }, kTimeoutMs));
    EXPECT_EQ(history.undoName(), QStringLiteral("deleting 1 run of lm.tscope"));
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
    waitForRuns(before);
    const auto* const restored = window_.workspace().files()[0].snapshot->find(RunId{2});
    ASSERT_NE(restored, nullptr) << "it is back under its number";
    EXPECT_EQ(restored->param("backend"), "flash");
    EXPECT_TRUE(QTest::qWaitFor([&] { return history.undoName().isEmpty() && !history.redoName().isEmpty(); },
                                kTimeoutMs));
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    waitForRuns(before - 1);
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
    waitForRuns(before);
}

TEST_F(RunMenuTest, TheHeaderOfOverviewCountsTheRunsThatTheFileHasNow)
{
    clickRail(QStringLiteral("Overview"));
    window_.workspace().select({run(1)});
    waitUntilSettled();
    const auto counts = [this](const QString& words) {
        for (const QLabel* label : window_.page(QStringLiteral("overview"))->findChildren<QLabel*>())
            if (label->text().endsWith(words + QStringLiteral(" in the file")))
                return true;
        return false;
    };
    const std::size_t before = runsInFile();
    ASSERT_TRUE(counts(QStringLiteral("%1 runs").arg(before)));
    window_.dock().edits().remove(file(), {RunId{2}});
    waitForRuns(before - 1);
    EXPECT_TRUE(counts(before == 2 ? QStringLiteral("1 run") : QStringLiteral("%1 runs").arg(before - 1)));
}

TEST_F(RunMenuTest, ADeletionIsConfirmedWithAnUndoThatSelectsTheRunAgain)
{
    const std::size_t before = runsInFile();
    const std::string uid = window_.workspace().files()[0].snapshot->find(RunId{1})->uid;
    window_.workspace().select({run(1)});
    fill({run(1)});
    item(QStringLiteral("Delete run")).trigger();
    waitForRuns(before - 1);
    // The file is watched: it may be read again before the deletion is known to have ended.
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return window_.workspace().selection() == std::vector{run(2)}; }, kTimeoutMs))
        << "the run behind it is shown";
    auto& strip = named<QWidget>(QStringLiteral("Confirmation"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return strip.isVisible(); }, kTimeoutMs));
    EXPECT_EQ(strip.findChild<QLabel*>(QStringLiteral("message"))->text(),
              QStringLiteral("1 run of lm.tscope deleted."));
    auto* undo = strip.findChild<QPushButton*>();
    ASSERT_EQ(undo->text(), QStringLiteral("Undo"));
    QTest::mouseClick(undo, Qt::LeftButton);
    waitForRuns(before);
    EXPECT_TRUE(strip.isHidden());
    const auto isShown = [&] {
        const std::vector<SelectedRun> shown = window_.workspace().selectedRuns();
        return shown.size() == 1 && shown[0].run->uid == uid;
    };
    EXPECT_TRUE(QTest::qWaitFor(isShown, kTimeoutMs));
}

TEST_F(RunMenuTest, TagsSeveralRunsAtOnceAndUndoesIt)
{
    window_.dock().edits().setTag({run(1), run(3)}, QStringLiteral("pair"));
    const auto tagOf = [this](std::int64_t number) {
        return window_.workspace().files()[0].snapshot->find(RunId{number})->tag;
    };
    ASSERT_TRUE(QTest::qWaitFor([&] { return tagOf(1) == "pair" && tagOf(3) == "pair"; }, kTimeoutMs));
    EXPECT_EQ(tagOf(2), "");
    QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
    ASSERT_TRUE(QTest::qWaitFor([&] { return tagOf(1).empty() && tagOf(3).empty(); }, kTimeoutMs));
}

class PaletteTest : public RunMenuTest {
protected:
    CommandPalette& open()
    {
        QTest::keyClick(&window_, Qt::Key_K, Qt::ControlModifier);
        waitUntilSettled();
        auto* palette = window_.findChild<CommandPalette*>();
        if (palette == nullptr)
            throw std::runtime_error("Ctrl+K opens no palette");
        return *palette;
    }

    // Types, and waits until the first entry has this text.
    void choose(CommandPalette& palette, const QString& typed, const QString& first)
    {
        auto& field = *palette.findChild<QLineEdit*>();
        auto& list = *palette.findChild<QListWidget*>();
        QTest::keyClicks(&field, typed);
        ASSERT_TRUE(
            QTest::qWaitFor([&] { return list.count() > 0 && list.item(0)->text() == first; }, kTimeoutMs));
        QTest::keyClick(&field, Qt::Key_Return);
        waitUntilSettled();
    }
};

TEST_F(PaletteTest, FindsPagesRunsAndHelp)
{
    choose(open(), QStringLiteral("memory"), QStringLiteral("Memory"));
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("memory"));
    choose(open(), QStringLiteral("#2"), QStringLiteral("#2 flash"));
    EXPECT_EQ(window_.workspace().selection(), std::vector{run(2)});
    choose(open(), QStringLiteral("glossary"), QStringLiteral("Glossary"));
    EXPECT_EQ(page<HelpPage>("help").topic(), QStringLiteral("glossary"));
}

TEST_F(PaletteTest, FindsAKernelAndShowsIt)
{
    CommandPalette& palette = open();
    auto& list = *palette.findChild<QListWidget*>();
    const auto kernel = [&list] {
        for (int i = 0; i < list.count(); ++i)
            if (list.item(i)->data(Qt::UserRole + 1).toString() == QStringLiteral("Kernel"))
                return list.item(i)->text();
        return QString();
    };
    QTest::keyClicks(palette.findChild<QLineEdit*>(), QStringLiteral("softmax"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !kernel().isEmpty(); }, kTimeoutMs));
    while (list.currentItem()->data(Qt::UserRole + 1).toString() != QStringLiteral("Kernel"))
        QTest::keyClick(palette.findChild<QLineEdit*>(), Qt::Key_Down);
    QTest::keyClick(palette.findChild<QLineEdit*>(), Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("kernels"));
    EXPECT_FALSE(window_.workspace().kernel().isEmpty());
}

TEST_F(PaletteTest, ShowsTheKeysOfActionsWhole)
{
    CommandPalette& palette = open();
    QWidget& list = *palette.findChild<QListWidget*>()->viewport();
    TextRecorder recorder(list.size());
    list.render(&recorder);
    QStringList words;
    for (const TextRecorder::Text& text : recorder.texts())
        words << text.words;
    for (const char* keys : {"Ctrl+O", "Ctrl+Alt+R", "Ctrl+Shift+S", "Ctrl+E"})
        EXPECT_TRUE(words.contains(QLatin1String(keys)))
            << keys << " is not in " << words.join(QLatin1Char('|')).toStdString();
}

TEST_F(PaletteTest, SaysThatNothingFits)
{
    CommandPalette& palette = open();
    QTest::keyClicks(palette.findChild<QLineEdit*>(), QStringLiteral("qqqq"));
    EXPECT_TRUE(palette.findChild<QListWidget*>()->isHidden());
}

TEST_F(PaletteTest, EscClosesItOnEveryPage)
{
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        QTest::keyClick(open().findChild<QLineEdit*>(), Qt::Key_Escape);
        ASSERT_TRUE(
            QTest::qWaitFor([&] { return window_.findChild<CommandPalette*>() == nullptr; }, kTimeoutMs))
            << name.toStdString();
    }
}

class StudyTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        const std::filesystem::path path = folder_ / "study.tscope";
        report::writeStudyFile(path, "flash", config::Edition::Quick, [](const ExperimentSpec& spec) {
            const double ms = double(spec.seqLen) / (spec.backend == Backend::Naive ? 16 : 64);
            return report::FakeResult{.forwardMs = ms, .backwardMs = 2 * ms};
        });
        window_.workspace().close(window_.workspace().files().front().id);
        window_.open({QString::fromStdString(path.string())});
        window_.showPage(QStringLiteral("overview")); // the window opens on the page that was shown last
        waitUntilSettled();
    }

    const query::FileSnapshot& runs() { return *window_.workspace().files().front().snapshot; }
    TableView& studies() { return named<TableView>(QStringLiteral("Studies of the file")); }
    /// One run is selected: on its timeline if it was traced.
    void expectTheOnlyRunIsExplained()
    {
        waitUntilSettled();
        const std::vector<RunKey> selected = window_.workspace().selection();
        ASSERT_EQ(selected.size(), 1U);
        const bool isTraced = runs().find(selected.front().run)->param("trace") != "off";
        EXPECT_EQ(window_.currentPageName(),
                  isTraced ? QStringLiteral("timeline") : QStringLiteral("overview"));
    }
};

/// A place in the figure where a run's point is under the cursor.
QPoint pointOf(FigureView& figure)
{
    figure.grab(); // draws it
    for (int y = 0; y < figure.height(); y += 4)
        for (int x = 0; x < figure.width(); x += 4) {
            QMouseEvent move(QEvent::MouseMove, QPointF(x, y), figure.mapToGlobal(QPointF(x, y)),
                             Qt::NoButton, Qt::NoButton, Qt::NoModifier);
            QApplication::sendEvent(&figure, &move);
            if (figure.cursor().shape() == Qt::PointingHandCursor)
                return {x, y};
        }
    ADD_FAILURE() << "no point is under the cursor anywhere";
    return {};
}

TEST_F(StudyTest, AFileOpensOnItsStudyAndOnARunThatWasTraced)
{
    ASSERT_TRUE(QTest::qWaitFor([&] { return studies().isVisible(); }, kTimeoutMs));
    ASSERT_EQ(studies().table().rows.size(), 1U);
    const QString all = QString::number(runs().runs.size());
    const std::vector<TableCell>& cells = studies().table().rows[0].cells;
    EXPECT_TRUE(cells[0].text.endsWith(QLatin1Char('?'))) << "the question: " << cells[0].text.toStdString();
    EXPECT_TRUE(cells[1].text.contains(QStringLiteral("faster than naive"))) << cells[1].text.toStdString();
    EXPECT_EQ(cells[2].text, QStringLiteral("%1 of %1 ok").arg(all));
    EXPECT_EQ(studies().model()->index(0, 1).data(Qt::ToolTipRole).toString(), cells[1].text)
        << "the tool tip shows what is too long for the row";
    EXPECT_TRUE(
        named<QLabel>(QStringLiteral("Findings")).text().contains(QStringLiteral("faster than naive")));
    ASSERT_EQ(runs().runs.front().param("trace"), "off") << "this test needs a first run without a trace";
    const RunKey shown = window_.workspace().selection().front();
    EXPECT_NE(runs().find(shown.run)->param("trace"), "off");
}

TEST_F(StudyTest, EnterSelectsItsRunsAndAClickOnAPointSelectsOne)
{
    ASSERT_TRUE(QTest::qWaitFor([&] { return studies().isVisible(); }, kTimeoutMs));
    studies().setFocus();
    QTest::keyClick(&studies(), Qt::Key_Return);
    EXPECT_EQ(window_.workspace().selection().size(), runs().runs.size());
    waitUntilSettled();
    auto& panel = *window_.page(QStringLiteral("overview"))->findChild<StudyPanel*>();
    auto& figure = *panel.findChild<FigureView*>();
    ASSERT_FALSE(figure.paper().isEmpty());
    QTest::mouseClick(&figure, Qt::LeftButton, {}, pointOf(figure));
    expectTheOnlyRunIsExplained();
}

TEST_F(StudyTest, AClickOnAPointOfAChartOpensItsRun)
{
    ASSERT_TRUE(QTest::qWaitFor([&] { return studies().isVisible(); }, kTimeoutMs));
    studies().setFocus();
    QTest::keyClick(&studies(), Qt::Key_Return);
    window_.showPage(QStringLiteral("charts"));
    waitUntilSettled();
    auto& figure = *window_.page(QStringLiteral("charts"))->findChild<FigureView*>();
    QTest::mouseClick(&figure, Qt::LeftButton, {}, pointOf(figure));
    expectTheOnlyRunIsExplained();
}

TEST_F(StudyTest, FewStudiesHaveTheirChartsBesideTheirQuestions)
{
    EXPECT_TRUE(studies().findChildren<ChartSketch*>().isEmpty())
        << "the only study has its whole chart below";
    config::Study two = config::loadStudy("flash");
    for (const config::StudyPart& part : config::loadStudy("scaling").parts)
        two.parts.push_back(part);
    report::writeStudyFile(
        folder_ / "two.tscope", two,
        [](const ExperimentSpec& spec) {
            return report::FakeResult{.forwardMs = double(spec.seqLen), .backwardMs = 1};
        },
        1);
    window_.open({QString::fromStdString((folder_ / "two.tscope").string())});
    waitUntilSettled();
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return studies().findChildren<ChartSketch*>().size() > 1; }, kTimeoutMs));
    waitUntilSettled();
    EXPECT_EQ(studies().verticalScrollBar()->maximum(), 0) << "no study is out of sight";
    QModelIndex last;
    ChartSketch* sketch = nullptr;
    for (int row = 0; row < studies().model()->rowCount(); ++row) {
        const QModelIndex index = studies().model()->index(row, 0);
        auto* const each = dynamic_cast<ChartSketch*>(studies().indexWidget(index));
        EXPECT_EQ(each == nullptr, index.data().toString() == QStringLiteral("no chart"));
        if (each != nullptr) {
            last = index;
            sketch = each;
        }
    }
    ASSERT_NE(sketch, nullptr);
    EXPECT_GT(studies().columnWidth(0), sizes().of(100)) << "the chart is not squeezed";
    ASSERT_NE(studies().currentIndex().row(), last.row());
    const QImage picture = sketch->grab().toImage();
    int coloured = 0;
    for (int y = 0; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); ++x)
            coloured += picture.pixelColor(x, y).saturation() > 120 ? 1 : 0;
    EXPECT_GT(coloured, 30) << "lines in the colours of the backends";
    clickRow(studies(), last);
    EXPECT_EQ(studies().currentIndex().row(), last.row()) << "a click on the chart selects its study";
}

// Question, finding and state of a row are visible on a narrow page too.
TEST_F(StudyTest, ANarrowPageKeepsQuestionFindingAndState)
{
    ASSERT_TRUE(QTest::qWaitFor([&] { return studies().isVisible(); }, kTimeoutMs));
    for (const QSize size : {QSize(1600, 1000), QSize(853, 533)}) {
        window_.resize(size);
        waitUntilSettled();
        for (int column = 0; column < 3; ++column)
            EXPECT_FALSE(studies().isColumnHidden(column)) << "at " << size.width() << ", " << column;
        EXPECT_EQ(studies().verticalScrollBar()->maximum(), 0) << "the only row is whole";
    }
}

class OomTest : public RunMenuTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        const std::filesystem::path path = folder_ / "gpu.tscope";
        test::writeGpuFile(path);
        window_.open({QString::fromStdString(path.string())});
        waitUntilSettled();
        gpu_ = window_.workspace().files().back().id;
        window_.workspace().select({{gpu_, RunId{9}}});
        window_.showPage(QStringLiteral("overview"));
        waitUntilSettled();
        window_.workspace().disconnect(window_.page(QStringLiteral("experiment"))); // no engine is started
        QObject::connect(&window_.workspace(), &Workspace::runsWanted, &window_,
                         [this](const WantedRuns& runs) { wanted_ = runs; });
    }

    TableView& changes()
    {
        auto& fits = named<TableView>(QStringLiteral("Changes that fit"));
        EXPECT_TRUE(QTest::qWaitFor([&] { return !fits.table().rows.empty(); }, kTimeoutMs));
        return fits;
    }

    static QPushButton* buttonOf(TableView& fits, int row)
    {
        auto* button = dynamic_cast<QPushButton*>(
            fits.indexWidget(fits.model()->index(row, fits.model()->columnCount() - 1)));
        if (button == nullptr)
            throw std::runtime_error("a change has no button");
        return button;
    }

    int gpu_ = 0;
    WantedRuns wanted_;
};

TEST_F(OomTest, SaysWhatWouldFitAndRunsIt)
{
    TableView& fits = changes();
    EXPECT_TRUE(fits.isVisible());
    fits.setFocus();
    fits.setCurrentIndex(fits.model()->index(0, 0));
    QTest::keyClick(&fits, Qt::Key_Return);
    ASSERT_EQ(wanted_.specs.size(), 1U);
    EXPECT_TRUE(wanted_.file.endsWith(QStringLiteral("gpu.tscope")));
    const ExperimentSpec& spec = wanted_.specs.front();
    EXPECT_TRUE(spec.batch < 65536 || spec.backend != Backend::Naive || spec.precision != Precision::Fp32 ||
                spec.checkpointing.kind != Checkpointing::Kind::None)
        << fits.table().rows[0].cells[0].text.toStdString();
    EXPECT_EQ(spec.dFf, 2048) << "the rest of the spec stays";
}

TEST_F(OomTest, EachChangeHasItsRunButton)
{
    TableView& fits = changes();
    std::vector<QPushButton*> buttons;
    for (int row = 0; row < fits.model()->rowCount(); ++row)
        buttons.push_back(buttonOf(fits, row));
    ASSERT_GT(buttons.size(), 1U);
    EXPECT_EQ(buttons[1]->text(), QStringLiteral("Run"));
    EXPECT_EQ(buttons[1]->accessibleName(), QStringLiteral("Run ") + fits.table().rows[1].cells[0].text);
    // By keyboard: Tab leads from the table to its buttons.
    fits.setFocus();
    QTest::keyClick(&fits, Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), buttons[0]);
    QTest::keyClick(buttons[0], Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), buttons[1]);
    QTest::keyClick(buttons[1], Qt::Key_Space);
    ASSERT_EQ(wanted_.specs.size(), 1U);
    const WantedRuns second = wanted_;
    QTest::mouseClick(buttons[0], Qt::LeftButton);
    ASSERT_EQ(wanted_.specs.size(), 1U);
    EXPECT_NE(config::specHash(second.specs.front()), config::specHash(wanted_.specs.front()));
}

TEST_F(OomTest, AQueuedChangeIsNotQueuedAgain)
{
    TableView& fits = changes();
    std::vector<ExperimentSpec> queue;
    window_.workspace().setQueue([&](const QString& file, const ExperimentSpec& spec) {
        return file == wanted_.file && std::ranges::find(queue, spec) != queue.end();
    });
    QTest::mouseClick(buttonOf(fits, 0), Qt::LeftButton);
    ASSERT_EQ(wanted_.specs.size(), 1U);
    queue = wanted_.specs;
    const auto showsAt = [&](int row, const char* word, bool isEnabled) {
        return QTest::qWaitFor(
            [&] {
                return buttonOf(fits, row)->text() == QLatin1String(word) &&
                       buttonOf(fits, row)->isEnabled() == isEnabled;
            },
            kTimeoutMs);
    };
    emit window_.workspace().queueChanged();
    EXPECT_TRUE(showsAt(0, "Queued", false));
    EXPECT_TRUE(showsAt(1, "Run", true));
    fits.setCurrentIndex(fits.model()->index(0, 0));
    wanted_.specs.clear();
    QTest::keyClick(&fits, Qt::Key_Return);
    EXPECT_TRUE(wanted_.specs.empty());

    StringTable strings;
    store::RunWriter writer(wanted_.file.toStdString(), strings);
    writer.beginRun(
        {"fits", "lm", config::toJson(queue.front()), config::specHash(queue.front()), "Tilescope test"});
    window_.workspace().refresh(gpu_);
    EXPECT_TRUE(showsAt(0, "Running", false));
}

TEST_F(OomTest, AChangeThatWasRunIsDrawnBesideTheFailureAndOpensByAClick)
{
    TableView& fits = changes();
    auto& bar = *window_.page(QStringLiteral("overview"))->findChild<LimitBarPlot*>();
    EXPECT_TRUE(bar.accessibleDescription().contains(QStringLiteral("predicted")));
    QTest::mouseClick(buttonOf(fits, 0), Qt::LeftButton);
    ASSERT_EQ(wanted_.specs.size(), 1U);
    StringTable strings;
    {
        store::RunWriter writer(wanted_.file.toStdString(), strings);
        const ExperimentSpec& spec = wanted_.specs.front();
        writer.beginRun({"fits", "lm", config::toJson(spec), config::specHash(spec), "Tilescope test"});
        RunResult result;
        result.device = "cuda:0";
        result.peakAllocated = result.peakReserved = Bytes{std::int64_t{77} << 30};
        writer.endRun(result);
    }
    window_.workspace().refresh(gpu_);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return bar.accessibleDescription().contains(QStringLiteral(": 77.0")); }, kTimeoutMs))
        << bar.accessibleDescription().toStdString();
    QPushButton* open = buttonOf(fits, 0);
    ASSERT_EQ(open->text(), QStringLiteral("Open"));
    EXPECT_TRUE(open->accessibleName().startsWith(QStringLiteral("Open ")));
    const QRectF drawn = bar.variantBox(0);
    EXPECT_TRUE(QRectF(bar.rect()).contains(drawn));
    QTest::mouseClick(&bar, Qt::LeftButton, {}, drawn.center().toPoint());
    waitUntilSettled();
    EXPECT_EQ(window_.workspace().selection(), (std::vector<RunKey>{{gpu_, RunId{10}}}));
}

TEST_F(OomTest, IsShownOnlyForRunsThatWereOutOfMemory)
{
    auto& panel = *window_.page(QStringLiteral("overview"))->findChild<OomPanel*>();
    EXPECT_TRUE(panel.isVisible());
    window_.workspace().select({{gpu_, RunId{1}}});
    waitUntilSettled();
    EXPECT_FALSE(panel.isVisible());
    window_.workspace().select({{gpu_, RunId{1}}, {gpu_, RunId{9}}});
    waitUntilSettled();
    EXPECT_TRUE(panel.isVisible()) << "beside a run that fits";
}

} // namespace
} // namespace tilescope::ui
