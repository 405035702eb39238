// The whole way in one window: a spec is opened, the engine itself runs it on the CPU, its points appear in
// the run list, and the pages show what was recorded. TILESCOPE_TEST_PICTURES names a folder for pictures.

#include "tests/support/temporary_folder.h"
#include "tests/ui/longest_turn.h"
#include "tests/ui/test_application.h"
#include "ui/experiment/experiment_page.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/controls.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/main_window.h"
#include "ui/window/page_rail.h"
#include "ui/window/screenshots.h"
#include "ui/window/written_strip.h"

#include <QApplication>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QTest>
#include <QTreeView>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace tilescope::ui {

using ::testing::MatchesRegex;

namespace {

constexpr int kEngineTimeoutMs = 240'000; // for LibTorch to load from a cold disk, and four points
constexpr double kEngineFluidMs = 1000;   // of the GUI thread's own processor time, unoptimised

constexpr const char* kSpec = R"(name: window
workload: lm
device: cpu
mode: train
warmup: 1
steps: 20
trace_steps: 1
fixed: {size: tiny, context: 64, threads: 1}
sweep:
  batch: [4, 8]
  backend: [naive, flash-torch]
)";

constexpr int kPoints = 4;

class RealEngine : public ::testing::Test {
protected:
    void SetUp() override
    {
        // A build with its engine uses that one; another may be named.
        if (std::filesystem::exists(BUILT_ENGINE))
            setenv("TILESCOPE_ENGINE", BUILT_ENGINE, 1);
        else if (std::getenv("TILESCOPE_ENGINE") == nullptr)
            GTEST_SKIP() << "this build has no tilescope-engine (TILESCOPE_ENGINE=OFF), and the environment "
                            "variable TILESCOPE_ENGINE names none";
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                           QString::fromStdString((folder_ / "settings").string()));
        Theme::instance().apply(ThemeChoice::Light);
        window_ = std::make_unique<MainWindow>();
        window_->show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window_.get(), kEngineTimeoutMs));
    }

    void TearDown() override
    {
        window_.reset();
        finishBackgroundWork();
    }

    // Both themes of what the window shows now.
    void picture(const char* name)
    {
        const QByteArray folder = qgetenv("TILESCOPE_TEST_PICTURES");
        if (folder.isEmpty())
            return;
        for (const auto& [choice, suffix] :
             {std::pair(ThemeChoice::Dark, "dark"), std::pair(ThemeChoice::Light, "light")}) {
            Theme::instance().apply(choice);
            QApplication::processEvents();
            EXPECT_TRUE(window_->grab().save(
                QStringLiteral("%1/%2_%3.png")
                    .arg(QString::fromLocal8Bit(folder), QLatin1String(name), QLatin1String(suffix))));
        }
    }

    void clickRail(const QString& word)
    {
        for (RailButton* button : window_->findChildren<RailButton*>())
            if (button->text() == word)
                QTest::mouseClick(button, Qt::LeftButton);
        waitUntilSettled();
    }

    int finishedRuns() const
    {
        int count = 0;
        for (const OpenFile& file : window_->workspace().files())
            if (file.snapshot)
                for (const query::RunSummary& run : file.snapshot->runs)
                    count += run.result.status == RunStatus::Ok;
        return count;
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<MainWindow> window_;
};

TEST_F(RealEngine, RunsASpecAndShowsWhatItRecorded)
{
    const std::filesystem::path spec = folder_ / "window.yaml";
    std::ofstream(spec) << kSpec;
    window_->open({QString::fromStdString(spec.string())});
    auto& page = dynamic_cast<ExperimentPage&>(*window_->page(QStringLiteral("experiment")));
    auto& output = *page.findChild<QLineEdit*>(QStringLiteral("output"));
    output.selectAll();
    QTest::keyClicks(&output, QString::fromStdString((folder_ / "window.tscope").string()));
    auto& run = *page.findChild<QPushButton*>(QStringLiteral("run"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return run.isEnabled(); }, kEngineTimeoutMs))
        << page.findChild<QLabel*>(QStringLiteral("verdict"))->text().toStdString();

    const LongestTurn turn;
    QTest::mouseClick(&run, Qt::LeftButton);
    ASSERT_TRUE(page.isRunning());
    ASSERT_TRUE(QTest::qWaitFor([&] { return finishedRuns() >= 1 || !page.isRunning(); }, kEngineTimeoutMs));
    if (page.isRunning())
        picture("experiment_running");
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page.isRunning(); }, kEngineTimeoutMs));
    const std::string log =
        page.findChild<QPlainTextEdit*>(QStringLiteral("log"))->toPlainText().toStdString();
    EXPECT_EQ(page.findChild<QLabel*>(QStringLiteral("status"))->text().left(4), QStringLiteral("Done"))
        << log;
    for (const TableRow& row : page.findChild<TableView*>()->table().rows)
        EXPECT_EQ(row.cells[2].text, QStringLiteral("ok")) << log;
    waitUntilSettled();
    picture("experiment_done");
    EXPECT_EQ(finishedRuns(), kPoints) << log;
    EXPECT_LT(turn.processorMs(), kEngineFluidMs);
    RecordProperty("longest_deaf_ms", int(turn.processorMs()));
    const auto* list = window_->findChild<QWidget*>(QStringLiteral("runs"))->findChild<QTreeView*>();
    EXPECT_EQ(list->model()->rowCount(list->model()->index(0, 0)), kPoints);

    clickRail(QStringLiteral("Timeline"));
    const TimelineScene& scene =
        dynamic_cast<TimelinePage&>(*window_->page(QStringLiteral("timeline"))).view().scene();
    ASSERT_EQ(scene.sections.size(), 1U);
    const query::Timeline& timeline = *scene.sections.front().timeline;
    EXPECT_EQ(timeline.steps.size(), 1U);
    std::size_t ops = 0;
    std::size_t ranges = 0;
    for (const query::Lane& lane : timeline.lanes) {
        ops += lane.kind == query::Lane::Kind::Thread ? lane.events() : 0;
        ranges += lane.kind == query::Lane::Kind::Ranges ? lane.events() : 0;
    }
    EXPECT_GT(ops, 100U);
    EXPECT_GT(ranges, 10U);
    picture("timeline");
    clickRail(QStringLiteral("Kernels"));
    picture("kernels");
    clickRail(QStringLiteral("Memory"));
    picture("memory");
}

TEST_F(RealEngine, TheDemoEndsOnTheTimelinesOfItsRuns)
{
    const QString here = QDir::currentPath();
    ASSERT_TRUE(QDir::setCurrent(QString::fromStdString(folder_.path().string()))); // where the demo records
    QTest::mouseClick(window_->findChild<QPushButton*>(QStringLiteral("demo")), Qt::LeftButton);
    const auto hasTimeline = [this] { return window_->currentPageName() == QLatin1String("timeline"); };
    EXPECT_TRUE(QTest::qWaitFor(hasTimeline, kEngineTimeoutMs));
    waitUntilSettled();
    const TimelineScene& scene =
        dynamic_cast<TimelinePage&>(*window_->page(QStringLiteral("timeline"))).view().scene();
    EXPECT_EQ(scene.sections.size(), 2U);
    EXPECT_EQ(finishedRuns(), 2);
    // Each run is named with what it cost.
    const auto* strip = window_->findChild<WrittenStrip*>();
    ASSERT_NE(strip, nullptr);
    EXPECT_TRUE(strip->isVisible());
    const QString said = strip->findChild<SentenceLabel*>()->text();
    EXPECT_THAT(said.toStdString(),
                MatchesRegex("A stores the whole matrix .* a step and .* at the peak\\. "
                             "B computes the same in tiles .* a step and .* at the peak\\."));
    picture("demo");
    auto& page = dynamic_cast<ExperimentPage&>(*window_->page(QStringLiteral("experiment")));
    EXPECT_TRUE(QTest::qWaitFor([&] { return !page.isRunning(); }, kEngineTimeoutMs));
    QDir::setCurrent(here);
}

} // namespace
} // namespace tilescope::ui

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    const tilescope::testing::TestApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope-test"));
    QApplication::setOrganizationName(QStringLiteral("tilescope-test"));
    return RUN_ALL_TESTS();
}
