// The experiment page runs sweeps: display, queue, pause and end, for every behaviour of the engine.

#include "tests/ui/experiment_window.h"
#include "tests/ui/test_application.h"
#include "ui/window/recent_files.h"

#include <set>

namespace tilescope::ui {
namespace {

TEST_F(ExperimentWindow, RunsWhatIsTypedAndListsItsRuns)
{
    ASSERT_FALSE(runButton->isEnabled());
    // By its widths: some faces of fixed pitch do not say that they are.
    const QFontMetricsF widths(editor->font());
    EXPECT_EQ(widths.horizontalAdvance(QLatin1Char('i')), widths.horizontalAdvance(QLatin1Char('M')));
    runSeeds(QStringLiteral("[0, 1, 2]"));
    EXPECT_EQ(statuses().size(), 3);
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"ok", "ok", "ok"})) << text("status");
    EXPECT_EQ(progress(), 1000);
    EXPECT_THAT(text("status"), HasSubstr("3 of 3 points"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 3; }, kTimeoutMs));
    EXPECT_EQ(rowsInTheRunList(), 3);
    EXPECT_EQ(RecentFiles::read().value(0), output);
    EXPECT_TRUE(runButton->isEnabled());
    EXPECT_FALSE(cancelButton->isEnabled());
    EXPECT_EQ(page->findChild<TableView*>()->table().rows[0].cells[3].text.toStdString().substr(0, 3), "1.0");
}

TEST_F(ExperimentWindow, ShowsFinishedPointsWhileTheNextOneRuns)
{
    setenv("FAKE_SCRIPT", "ok,slow", 1);
    runSeeds(QStringLiteral("[0, 1]"), 100'000);
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 1; }, kTimeoutMs));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(1).startsWith("running"); }, kTimeoutMs));
    EXPECT_TRUE(page->isRunning());
    EXPECT_GE(rowsInTheRunList(), 1);
    EXPECT_GE(progress(), 500);
    EXPECT_LT(progress(), 1000);

    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("Cancelled"));
    EXPECT_EQ(statuses(), QStringList({"ok", "cancelled"}));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Cancelled) == 1; }, kTimeoutMs));
}

TEST_F(ExperimentWindow, EndsAnEngineThatHangsAtTheSecondCancel)
{
    setenv("FAKE_SCRIPT", "hang", 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kTimeoutMs));
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    EXPECT_TRUE(page->isRunning());
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("Cancelled"));
}

TEST_F(ExperimentWindow, SaysThatTheEngineIsMissing)
{
    setenv("TILESCOPE_ENGINE", (folder / "no-engine").c_str(), 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("no-engine"));
    EXPECT_TRUE(runButton->isEnabled());
}

TEST_F(ExperimentWindow, SaysThatAPointKilledTheEngineAndGoesOn)
{
    setenv("FAKE_SCRIPT", "segv,ok", 1);
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"error", "ok"}));
    EXPECT_THAT(log(), HasSubstr("SIGSEGV"));
    EXPECT_THAT(text("status"), HasSubstr("SIGSEGV"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 1; }, kTimeoutMs));
    EXPECT_EQ(runsWith(RunStatus::Error), 1) << "what it had stored is kept";
}

TEST_F(ExperimentWindow, ShowsTheLastWordsOfAnEngineThatEndsByItself)
{
    setenv("FAKE_SCRIPT", "exit,ok", 1);
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("an illegal memory access"));
    EXPECT_THAT(text("counts"), HasSubstr("1 ok, 1 in error"));
}

TEST_F(ExperimentWindow, StaysFluidWhileAnEngineFloodsAndPrintsGarbage)
{
    setenv("FAKE_SCRIPT", "garbage,flood,samples", 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"ok"})) << text("status");
    EXPECT_THAT(log(), HasSubstr("a line that is not an event"));

    replace(QStringLiteral(
        "workload: attention\nseq_len: 64\ndevice: cpu\nsteps: 3\ntimeout: 1\nsweep: {seed: [1, 2]}"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    page->queue().setTimeouts({.pastTimeout = std::chrono::seconds(3)}); // of flood that no step ends
    LongestTurn turn;
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"error", "error"})) << text("status");
    EXPECT_LT(turn.processorMs(), kFluidMs);
    EXPECT_LE(page->findChild<QPlainTextEdit*>(QStringLiteral("log"))->blockCount(), 2000);
}

TEST_F(ExperimentWindow, WaitsForAnEngineThatLags)
{
    setenv("FAKE_SCRIPT", "gate", 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kTimeoutMs));
    type(QStringLiteral("# the window takes what is typed meanwhile"));
    EXPECT_THAT(yaml(), HasSubstr("typed meanwhile"));
    EXPECT_TRUE(page->isRunning());
    openGate();
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("1 of 1 point"));
}

TEST_F(ExperimentWindow, SaysWhatToDoWhereThereIsNoGpu)
{
    type(QStringLiteral("workload: attention\nseq_len: 64\ndevice: cuda"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("no usable NVIDIA GPU"));
    EXPECT_THAT(text("status"), HasSubstr("use device: cpu"));
    ASSERT_TRUE(button("machineLink")->isVisible());
    QTest::mouseClick(button("machineLink"), Qt::LeftButton);
    EXPECT_EQ(window->currentPageName(), "machine");
}

TEST_F(ExperimentWindow, PlotsTheStepsAndTheMemoryOfThePointThatRuns)
{
    setenv("FAKE_SCRIPT", "slow", 1);
    runSeeds(QStringLiteral("[0]"), 100'000);
    auto* steps = page->findChild<StepsPlot*>();
    auto* memory = page->findChild<HeldMemoryPlot*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return steps->dots() > 20 && memory->points() > 20; }, kTimeoutMs));
    EXPECT_THAT(steps->summary().toStdString(), HasSubstr("ms, n "))
        << "each step is a little longer: no interval";
    EXPECT_THAT(memory->summary().toStdString(), HasSubstr("MiB"));
    EXPECT_TRUE(steps->isVisible());
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
}

TEST_F(ExperimentWindow, APointWithoutAStepLeavesASentenceAndNoNumbersInThePlots)
{
    setenv("FAKE_SCRIPT", "skipped", 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEnd());
    const std::vector<ThemedPlot*> plots{page->findChild<StepsPlot*>(), page->findChild<HeldMemoryPlot*>()};
    for (ThemedPlot* plot : plots) {
        const QImage drawn = plot->toPixmap(240, 140).toImage();
        bool hasWords = false;
        for (int x = 0; x < drawn.width(); ++x)
            hasWords = hasWords || drawn.pixel(x, drawn.height() / 2) != drawn.pixel(0, 0);
        EXPECT_TRUE(hasWords) << "the sentence is drawn";
        EXPECT_EQ(plot->nothing(), QStringLiteral("No step has ended."));
        EXPECT_FALSE(plot->xAxis->realVisibility());
        EXPECT_FALSE(plot->yAxis->realVisibility());
    }
    setenv("FAKE_SCRIPT", "ok", 1);
    editor->clear();
    runSeeds(QStringLiteral("[1]"));
    ASSERT_TRUE(waitForEnd());
    for (const ThemedPlot* plot : plots) {
        EXPECT_TRUE(plot->nothing().isEmpty());
        EXPECT_TRUE(plot->xAxis->realVisibility());
    }
}

TEST_F(ExperimentWindow, FillsTheGridOfPointsWithTimes)
{
    replace(QStringLiteral(
        "workload: attention\ndevice: cpu\nsteps: 3\nsweep:\n  seed: [0, 1]\n  seq_len: [64, 128]\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    setenv("FAKE_SCRIPT", "ok,exit", 1);
    auto* grid = page->findChild<PointGridView*>();
    ASSERT_TRUE(grid->isVisible());
    ASSERT_EQ(grid->cells().size(), 4U);
    EXPECT_EQ(grid->cells()[0].kind, GridCell::Kind::Waiting);
    QString message;
    QObject::connect(page, &Page::cursorText, [&](const QString& text) { message = text; });
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    std::map<GridCell::Kind, int> kinds;
    for (const GridCell& cell : grid->cells())
        ++kinds[cell.kind];
    EXPECT_EQ(kinds[GridCell::Kind::Time], 2);
    EXPECT_EQ(kinds[GridCell::Kind::Error], 2);
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_Right);
    EXPECT_THAT(message.toStdString(), HasSubstr("seq_len=64"));
    QTest::keyClick(grid, Qt::Key_Down);
    QTest::keyClick(grid, Qt::Key_Right);
    EXPECT_THAT(message.toStdString(), HasSubstr("seed=1"));
    EXPECT_EQ(statuses().size(), 4);
    EXPECT_FALSE(grid->isVisible()) << "the list is a choice away";
}

TEST_F(ExperimentWindow, AnotherSpecLeavesNothingOfTheLastSweepBehind)
{
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(waitForEnd());
    const auto* status = page->findChild<QLabel*>(QStringLiteral("status"));
    const auto* steps = page->findChild<StepsPlot*>(QStringLiteral("steps"));
    EXPECT_THAT(text("status"), HasSubstr("Done: 2 of 2 points"));
    const QString same = editor->toPlainText();
    replace(same + QStringLiteral("# a comment\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "2 points"; }, kTimeoutMs));
    EXPECT_TRUE(status->isVisible()) << "the spec still describes the points that ran";
    EXPECT_TRUE(steps->isVisible());
    replace(QStringLiteral(
        "name: fake\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: 3\nsweep: {seed: [0, 1, 2]}"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "3 points"; }, kTimeoutMs)) << verdict();
    EXPECT_FALSE(status->isVisible());
    EXPECT_FALSE(steps->isVisible());
    EXPECT_EQ(statuses(), QStringList({"waiting", "waiting", "waiting"}));
}

TEST_F(ExperimentWindow, CellsAndRowsLeadToTheirRuns)
{
    replace(QStringLiteral(
        "workload: attention\ndevice: cpu\nsteps: 3\nsweep:\n  seed: [0, 1]\n  seq_len: [64, 128]\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    auto* grid = page->findChild<PointGridView*>();
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 4; }, kTimeoutMs));
    const auto seedOf = [this]() -> std::string {
        const std::vector<SelectedRun> runs = window->workspace().selectedRuns();
        return runs.size() == 1 ? std::string(runs[0].run->param("seed")) + " " +
                                      std::string(runs[0].run->param("seq_len"))
                                : std::string();
    };
    std::set<std::string> seen;
    grid->setFocus();
    for (const auto key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Down, Qt::Key_Left}) {
        QTest::keyClick(grid, key);
        waitUntilSettled();
        seen.insert(seedOf());
    }
    EXPECT_THAT(seen, ::testing::UnorderedElementsAre("0 64", "0 128", "1 64", "1 128"));
    EXPECT_EQ(window->currentPageName(), QStringLiteral("experiment")) << "looking does not lead away";
    QTest::keyClick(grid, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window->currentPageName(), QStringLiteral("overview"));
    window->showPage(QStringLiteral("experiment"));
    ASSERT_EQ(statuses().size(), 4); // shows the list
    auto* list = page->findChild<TableView*>();
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(2, 1)).center());
    waitUntilSettled();
    const std::string chosen = seedOf();
    QTest::keyClick(list, Qt::Key_Up);
    waitUntilSettled();
    EXPECT_NE(seedOf(), chosen);
    QTest::keyClick(list, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window->currentPageName(), QStringLiteral("overview"));
}

TEST_F(ExperimentWindow, KeepsTheGridReadableOnASmallScreenWhileItRuns)
{
    window->resize(1366, 768);
    replace(QStringLiteral("name: grid\nworkload: attention\ndevice: cpu\nsteps: 3\nsweep:\n"
                           "  backend: [naive, flash-torch, sdpa]\n  precision: [fp32, bf16]\n"
                           "  seq_len: [64, 128, 256, 512, 1024]\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    setenv("FAKE_SCRIPT", "slow", 1);
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(page->isRunning());
    auto* grid = page->findChild<PointGridView*>();
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return grid->viewport()->height() >= grid->wantedHeight() - 1; }, kTimeoutMs))
        << "all five lengths are seen";
    EXPECT_LE(window->height(), 768);
    for (const char* plot : {"steps", "memory"})
        EXPECT_GE(page->findChild<QWidget*>(QLatin1String(plot))->height(), 90) << plot;
    page->stopAll();
    page->queue().cancel();
    ASSERT_TRUE(waitForEnd());
}

TEST_F(ExperimentWindow, ShowsReadablePlotsInALowWindowWhileItRuns)
{
    window->resize(853, 533); // 1280 x 800 at 150 %
    replace(QStringLiteral("name: low\nworkload: attention\ndevice: cpu\nsteps: 3\nseq_len: 64\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    setenv("FAKE_SCRIPT", "slow", 1);
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(page->isRunning());
    auto* steps = page->findChild<QWidget*>(QStringLiteral("steps"));
    // The page has scrolled to them.
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return steps->isVisible() && steps->visibleRegion().boundingRect().height() >= 140; },
        kTimeoutMs))
        << steps->visibleRegion().boundingRect().height();
    EXPECT_LE(window->height(), 533);
    page->stopAll();
    page->queue().cancel();
    ASSERT_TRUE(waitForEnd());
}

TEST_F(ExperimentWindow, ShowsTheSweepInTheStatusBarAndCancelsItThere)
{
    setenv("FAKE_SCRIPT", "ok,slow", 1);
    EXPECT_FALSE(button("jobCancel")->isVisible());
    runSeeds(QStringLiteral("[0, 1]"), 100'000);
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(1).startsWith("running"); }, kTimeoutMs));
    window->showPage(QStringLiteral("machine"));
    ASSERT_TRUE(button("jobCancel")->isVisible());
    EXPECT_EQ(button("jobWords")->text(), "running 1/2");
    EXPECT_GE(window->findChild<QProgressBar*>(QStringLiteral("jobBar"))->value(), 500);
    QTest::mouseClick(button("jobWords"), Qt::LeftButton);
    EXPECT_EQ(window->currentPageName(), "experiment");
    QTest::mouseClick(button("jobCancel"), Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    ASSERT_TRUE(QTest::qWaitFor([this] { return !button("jobCancel")->isVisible(); }, kTimeoutMs));
    EXPECT_EQ(statuses(), QStringList({"ok", "cancelled"}));
}

TEST_F(ExperimentWindow, PausesAfterThePointAndGoesOn)
{
    setenv("FAKE_SCRIPT", "gate", 1);
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kTimeoutMs));
    QTest::mouseClick(button("pause"), Qt::LeftButton);
    EXPECT_FALSE(button("pause")->isEnabled());
    openGate();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !page->isRunning(); }, kTimeoutMs));
    EXPECT_EQ(statuses(), QStringList({"ok", "waiting"}));
    EXPECT_THAT(text("status"), HasSubstr("Paused after 1 of 2 points"));
    EXPECT_EQ(button("pause")->text(), "Resume");
    EXPECT_EQ(button("jobWords")->text(), "held 1/2");
    QTest::mouseClick(button("pause"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses() == QStringList({"ok", "ok"}); }, kTimeoutMs));
    ASSERT_TRUE(waitForEnd());
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 2; }, kTimeoutMs));
}

TEST_F(ExperimentWindow, QueuesAnotherSweepBehindTheOneThatRuns)
{
    setenv("FAKE_SCRIPT", "gate,ok", 1);
    runSeeds(QStringLiteral("[0]"));
    EXPECT_FALSE(runButton->isEnabled());
    ASSERT_TRUE(button("enqueue")->isEnabled());
    for (int i = 0; i < 3; ++i)
        QTest::mouseClick(button("enqueue"), Qt::LeftButton);
    auto* list = page->findChild<QWidget*>(QStringLiteral("queue"));
    ASSERT_TRUE(list->isVisible());
    ASSERT_EQ(page->queue().waiting().size(), 3U);
    const auto press = [&](const char* what) {
        QPushButton* found = nullptr; // soon: the list is made anew with each change
        ASSERT_TRUE(QTest::qWaitFor(
            [&] {
                for (QPushButton* candidate : list->findChildren<QPushButton*>())
                    if (found == nullptr && candidate->isVisible() && candidate->isEnabled() &&
                        candidate->accessibleName().contains(QLatin1String(what)))
                        found = candidate;
                return found != nullptr;
            },
            kTimeoutMs))
            << what;
        QTest::mouseClick(found, Qt::LeftButton);
    };
    const int first = page->queue().waiting()[0].id;
    press("later");
    EXPECT_EQ(page->queue().waiting()[1].id, first);
    press("from the queue");
    EXPECT_EQ(page->queue().waiting().size(), 2U);
    openGate();
    ASSERT_TRUE(QTest::qWaitFor(
        [this] { return page->queue().state() == SweepQueue::State::Idle && runsWith(RunStatus::Ok) == 3; },
        kTimeoutMs));
    EXPECT_FALSE(list->isVisible());
}

TEST_F(ExperimentWindow, PassesOverWhatTheFileHolds)
{
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(waitForEnd());
    replace(QStringLiteral(
        "name: fake\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: 3\nsweep: {seed: [0, 1, 2]}"));
    auto* box = page->findChild<QCheckBox*>(QStringLiteral("onlyMissing"));
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Space);
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return runButton->isEnabled() && statuses().size() == 3; }, kTimeoutMs));
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"in the file", "in the file", "ok"})) << text("status");
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 3; }, kTimeoutMs));
    auto* list = page->findChild<TableView*>();
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(1, 1)).center());
    waitUntilSettled();
    ASSERT_EQ(window->workspace().selection().size(), 1U);
    EXPECT_EQ(window->workspace().selection().front().run, RunId{2})
        << "what stood there before has a run, too";
}

TEST_F(ExperimentWindow, AsksBeforeItClosesOnASweep)
{
    setenv("FAKE_SCRIPT", "slow", 1);
    runSeeds(QStringLiteral("[0]"), 100'000);
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kTimeoutMs));
    const auto answer = [this](QMessageBox::StandardButton button) {
        QTimer::singleShot(0, window.get(), [button] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            ASSERT_NE(box, nullptr);
            QTest::mouseClick(box->button(button), Qt::LeftButton);
        });
        window->close();
    };
    answer(QMessageBox::No);
    EXPECT_TRUE(window->isVisible());
    EXPECT_TRUE(page->isRunning());
    answer(QMessageBox::Yes);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !window->isVisible(); }, kTimeoutMs));
    EXPECT_FALSE(page->isRunning());
}

} // namespace
} // namespace tilescope::ui

int main(int argc, char** argv)
{
    ::testing::InitGoogleMock(&argc, argv);
    const tilescope::testing::TestApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope-test"));
    QApplication::setOrganizationName(QStringLiteral("tilescope-test"));
    return RUN_ALL_TESTS();
}
