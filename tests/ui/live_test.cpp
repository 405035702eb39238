// The window with incomplete files: a run that is being written, files that appear later, dropped files, files of
// other programs.

#include "core/exchange/import/importer.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/working_block.h"
#include "tests/ui/fixture.h"
#include "tests/ui/test_application.h"
#include "tests/ui/timeouts.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/message_strip.h"
#include "ui/kit/table_view.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QUrl>
#include <QtTest>

#include <gtest/gtest.h>

#include <array>
#include <fstream>

namespace tilescope::ui {
namespace {

namespace fs = std::filesystem;

/// Writes a traced run in pieces, as an engine does.
class PiecemealRun {
public:
    PiecemealRun(const fs::path& file, int steps)
        : writer_(std::make_unique<store::RunWriter>(file, strings_))
    {
        test::LmFixture fixture;
        fixture.steps = steps;
        trace_ = test::lmTrace(fixture, strings_);
        begin_ = trace_.ranges.front().start;
        for (const Range& range : trace_.ranges)
            end_ = std::max(end_, range.end);
        writer_->beginRun({"live", "lm", R"({"workload":"lm","backend":"naive"})", "hash", "test"});
    }

    /// The events that ended before this share of the trace.
    void writeUntil(double share)
    {
        TraceBatch batch;
        take(trace_.ranges, batch.ranges, share);
        take(trace_.ops, batch.ops, share);
        take(trace_.apiCalls, batch.apiCalls, share);
        take(trace_.deviceEvents, batch.deviceEvents, share);
        const Sample sample{samples_++, SampleKind::Measure, Phase::Step, Nanoseconds(3'000'000), {}};
        writer_->writeSamples({&sample, 1});
        writer_->write(batch);
        writer_->commit();
    }

    void end()
    {
        writer_->endRun({});
        writer_.reset();
    }

private:
    template <class Event> void take(std::vector<Event>& from, std::vector<Event>& to, double share) const
    {
        const Timestamp until = begin_ + Nanoseconds(std::int64_t(share * double((end_ - begin_).count())));
        const auto behind = std::stable_partition(from.begin(), from.end(),
                                                  [until](const Event& event) { return event.end <= until; });
        to.assign(from.begin(), behind);
        from.erase(from.begin(), behind);
    }

    StringTable strings_;
    std::unique_ptr<store::RunWriter> writer_;
    TraceBatch trace_;
    int samples_ = 0;
    Timestamp begin_{};
    Timestamp end_{};
};

class LiveTest : public ::testing::Test {
protected:
    ~LiveTest() override { finishBackgroundWork(); }

    void open(const QStringList& files, const char* page)
    {
        window_.showPage(QString::fromLatin1(page));
        window_.show();
        window_.open(files);
        waitUntilSettled();
    }

    static bool eventually(const std::function<bool()>& what) { return QTest::qWaitFor(what, kTimeoutMs); }

    TimelineView& view()
    {
        return dynamic_cast<TimelinePage&>(*window_.page(QStringLiteral("timeline"))).view();
    }

    std::size_t events()
    {
        std::size_t total = 0;
        for (const TimelineSection& section : view().scene().sections)
            for (const query::Lane& lane : section.timeline->lanes)
                if (lane.kind != query::Lane::Kind::Busy)
                    total += lane.events();
        return total;
    }

    QString visibleText(const char* page)
    {
        QStringList texts;
        for (const QLabel* label : window_.page(QString::fromLatin1(page))->findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }

    const OpenFile& file(std::size_t at = 0) { return window_.workspace().files()[at]; }

    tilescope::testing::TemporaryFolder folder_;
    fs::path path_ = folder_ / "live.tscope";
    QString name_ = QString::fromStdString(path_.string());
    MainWindow window_;
};

TEST_F(LiveTest, ARunIsSeenGrowingAndKeepsWhatTheUserChose)
{
    PiecemealRun run(path_, 8);
    open({name_}, "timeline");
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_TRUE(visibleText("timeline").contains(QStringLiteral("is being written")))
        << visibleText("timeline").toStdString();

    run.writeUntil(0.3);
    ASSERT_TRUE(eventually([this] { return events() > 0; })) << "events that come are shown";
    const std::size_t first = events();
    const TimeWindow fitted = view().window();
    // The user zooms in, selects a kernel and folds a lane.
    view().setWindow({fitted.from + 0.2 * fitted.length(), fitted.from + 0.4 * fitted.length()});
    const TimeWindow zoomed = view().window();
    std::size_t lane = 0;
    while (view().scene().sections[0].timeline->lanes[lane].kind != query::Lane::Kind::Stream)
        ++lane;
    view().select(SectionItem{0, {lane, 0, 3}});
    const auto startOf = [this](const SectionItem& item) {
        const query::Timeline& timeline = *view().scene().sections[0].timeline;
        return timeline.origin +
               Nanoseconds(timeline.lanes[item.item.lane].rows[item.item.row].start(item.item.index));
    };
    const Timestamp chosen = startOf(*view().scene().selected);
    view().setFolded({0, 0}, true);

    run.writeUntil(0.6);
    ASSERT_TRUE(eventually([&] { return events() > first; }));
    EXPECT_EQ(view().window(), zoomed);
    ASSERT_TRUE(view().scene().selected);
    EXPECT_EQ(startOf(*view().scene().selected), chosen);
    EXPECT_TRUE(view().scene().sections[0].lanes[0].folded);
    EXPECT_EQ(file().snapshot->runs[0].result.status, RunStatus::Running);
    EXPECT_EQ(file().snapshot->runs[0].step->n, 2) << "so do its samples";

    run.writeUntil(2);
    run.end();
    ASSERT_TRUE(eventually([this] { return file().snapshot->runs[0].result.status == RunStatus::Ok; }));
    waitUntilSettled();
    EXPECT_FALSE(fs::exists(path_.string() + "-wal")) << "the file is sealed although the window shows it";
    const auto whole = file().file->timeline(RunId{1}, [] { return false; });
    EXPECT_TRUE(eventually([&] { return view().scene().sections[0].timeline == whole; }));
    EXPECT_EQ(view().scene().sections[0].timeline->steps.size(), 8U);
}

TEST_F(LiveTest, TheOverviewOfARunThatIsWrittenSaysThatItIs)
{
    StringTable strings;
    store::RunWriter writer(path_, strings);
    writer.beginRun({"live", "lm", R"({"workload":"lm","backend":"naive","trace":"kernels","trace_steps":2})",
                     "hash", "test"});
    const Sample sample{0, SampleKind::Measure, Phase::Step, Nanoseconds(3'000'000), {}};
    writer.writeSamples({&sample, 1});
    writer.commit();
    open({name_}, "overview");
    ASSERT_TRUE(eventually([&] {
        return visibleText("overview").contains(QStringLiteral("The run is being written"));
    })) << visibleText("overview").toStdString();
    EXPECT_FALSE(visibleText("overview").contains(QStringLiteral("in the spec")))
        << visibleText("overview").toStdString();
    writer.endRun({});
}

TEST_F(LiveTest, ASweepThatIsSelectedWholeGainsItsPointsInFigures)
{
    StringTable strings;
    store::RunWriter writer(path_, strings);
    const auto record = [&](int length, const std::string& hash, const char* name = "lengths") {
        writer.beginRun({name, "attention",
                         R"({"workload":"attention","seq_len":)" + std::to_string(length) + "}", hash,
                         "test"});
        const Sample sample{0, SampleKind::Measure, Phase::Step, Nanoseconds(3'000'000), {}};
        writer.writeSamples({&sample, 1});
        writer.endRun({});
        writer.commit();
    };
    const auto selected = [this] {
        std::vector<std::int64_t> runs;
        for (const RunKey& key : window_.workspace().selection())
            runs.push_back(key.run.value);
        return runs;
    };
    const auto runs = [this] { return file().snapshot->runs.size(); };
    record(128, "a");
    record(256, "b");
    open({name_}, "charts");
    const int id = file().id;
    record(512, "c");
    ASSERT_TRUE(eventually([&] { return runs() == 3; }));
    EXPECT_EQ(selected().size(), 1U) << "one run is not the sweep";
    window_.workspace().select({{id, RunId{1}}, {id, RunId{2}}, {id, RunId{3}}});
    waitUntilSettled();
    record(1024, "d");
    EXPECT_TRUE(eventually([&] { return selected() == std::vector<std::int64_t>{1, 2, 3, 4}; }));
    waitUntilSettled();
    const TableData& points = window_.page(QStringLiteral("charts"))->findChild<TableView*>()->table();
    EXPECT_EQ(points.columns.back().title, QStringLiteral("1024"));
    record(1024, "d");
    record(64, "e", "other");
    ASSERT_TRUE(eventually([&] { return runs() == 6; }));
    EXPECT_EQ(selected().size(), 4U) << "neither a repeat nor another sweep";
}

TEST_F(LiveTest, AViewThatShowsAllGoesOnShowingAll)
{
    PiecemealRun run(path_, 8);
    run.writeUntil(0.4);
    open({name_}, "timeline");
    ASSERT_TRUE(eventually([this] { return events() > 0; }));
    const std::size_t first = events();
    ASSERT_EQ(view().window(), fittingWindow(view().scene().sections));
    const TimeWindow before = view().window();
    run.writeUntil(0.9);
    ASSERT_TRUE(eventually([&] { return events() > first; }));
    EXPECT_GT(view().window().to, before.to * 1.2);
    EXPECT_EQ(view().window(), fittingWindow(view().scene().sections));
}

TEST_F(LiveTest, AFileThatComesLaterIsOpenedThen)
{
    open({name_}, "overview");
    EXPECT_TRUE(file().problem.contains(QStringLiteral("live.tscope"))) << file().problem.toStdString();
    test::writeLmFile(path_);
    ASSERT_TRUE(eventually([this] { return bool(file().snapshot); }));
    EXPECT_TRUE(file().problem.isEmpty());
    EXPECT_EQ(window_.workspace().selection().size(), 1U);
    fs::remove(path_);
    ASSERT_TRUE(eventually([this] { return !file().problem.isEmpty(); }));
    EXPECT_TRUE(file().snapshot) << "its contents remain";
}

TEST_F(LiveTest, ARecordingIsFollowedUntilItsFileIsThere)
{
    const fs::path working = path_.string() + ".recording-Ab12Cd";
    fs::create_directory(working);
    record::WorkingFileWriter writer(working / "1", {{"pid", "12"}, {"name", "python"}});
    ASSERT_TRUE(writer.append(testing::workingStep(true, 1'000'000)));
    open({name_}, "timeline");
    ASSERT_TRUE(eventually([this] { return events() > 0; }));
    EXPECT_EQ(file().name(), QStringLiteral("live.tscope"));
    const auto kernels = [this] {
        std::size_t total = 0;
        for (const query::Lane& lane : view().scene().sections.front().timeline->lanes)
            total += lane.kind == query::Lane::Kind::Stream ? lane.events() : 0;
        return total;
    };
    EXPECT_EQ(kernels(), 1U);
    EXPECT_EQ(file().snapshot->runs[0].result.status, RunStatus::Running);
    const auto stream = [this] {
        std::size_t lane = 0;
        while (view().scene().sections[0].timeline->lanes[lane].kind != query::Lane::Kind::Stream)
            ++lane;
        return lane;
    };
    view().select(SectionItem{0, {stream(), 0, 0}});

    ASSERT_TRUE(writer.append(testing::workingStep(false, 3'000'000)));
    ASSERT_TRUE(eventually([&] { return kernels() == 2; }));
    ASSERT_TRUE(view().scene().selected) << "the selection stays";
    EXPECT_EQ(view().scene().selected->item, (query::TimelineItem{stream(), 0, 0}));
    QStringList words;
    for (const MessageStrip* strip : window_.findChildren<MessageStrip*>())
        for (const QLabel* label : strip->findChildren<QLabel*>())
            words << label->text();
    EXPECT_TRUE(words.join(QString()).contains(QStringLiteral("2 GPU activities")))
        << words.join(QString()).toStdString();

    test::writeLmFile(path_); // with other runs; then the recorder joins its files
    const std::array files{working / "1"};
    exchange::importFiles(files, path_);
    fs::remove_all(working);
    ASSERT_TRUE(eventually([this] {
        return window_.workspace().files().size() == 1 && file().file->path() == path_ && file().snapshot;
    }));
    ASSERT_TRUE(eventually([this] { return !window_.workspace().selection().empty(); }));
    EXPECT_EQ(window_.workspace().selection().front().run, file().snapshot->runs.back().run)
        << "the recorded run, not the first of the file";
}

TEST_F(LiveTest, DroppedFilesAreOpenedOrRefusedWithAReason)
{
    test::writeLmFile(path_);
    const fs::path other = folder_ / "other.tscope";
    test::writeLmFile(other);
    const fs::path foreign = folder_ / "foreign.tscope";
    std::ofstream(foreign) << "SQLite format 3, or so it says";
    const fs::path damaged = folder_ / "damaged.tscope";
    fs::copy_file(path_, damaged);
    fs::resize_file(damaged, fs::file_size(damaged) / 2);
    window_.show();
    QMimeData data;
    QList<QUrl> urls;
    for (const fs::path& path : {path_, other, foreign, damaged})
        urls << QUrl::fromLocalFile(QString::fromStdString(path.string()));
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &drop);
    waitUntilSettled();
    ASSERT_EQ(window_.workspace().files().size(), 4U);
    EXPECT_EQ(file(0).snapshot->runs.size(), 3U);
    EXPECT_EQ(file(1).snapshot->runs.size(), 3U);
    EXPECT_TRUE(file(2).problem.contains(QStringLiteral("foreign.tscope"))) << file(2).problem.toStdString();
    EXPECT_TRUE(file(3).problem.contains(QStringLiteral("damaged.tscope"))) << file(3).problem.toStdString();
    // With nothing else to show, the pages say so too.
    window_.workspace().select({});
    waitUntilSettled();
    EXPECT_TRUE(visibleText("overview").contains(file(2).problem)) << visibleText("overview").toStdString();
    EXPECT_TRUE(visibleText("overview").contains(file(3).problem));
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
