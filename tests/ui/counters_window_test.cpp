// Counters of compared runs on the timeline: they leave room for the other run.

#include "tests/ui/text_recorder.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/view_history.h"
#include "ui/timeline/timeline_frame.h"
#include "ui/timeline/timeline_layout.h"

#include <QPainter>
#include <QSettings>

namespace tilescope::ui {
namespace {

using query::Lane;

class CountersWindowTest : public WindowTest {
protected:
    void SetUp() override
    {
        QSettings().clear();
        WindowTest::SetUp();
        const std::filesystem::path file = folder_ / "gpu.tscope";
        test::writeGpuFile(file);
        window_.open({QString::fromStdString(file.string())});
        waitUntilSettled();
        view_ = &openTimeline();
        file_ = window_.workspace().files().back().id;
    }

    void select(std::vector<RunKey> runs)
    {
        window_.workspace().select(std::move(runs));
        waitUntilSettled();
    }
    void selectBoth() { select({{file_, RunId{1}}, {file_, RunId{2}}}); }

    std::size_t countersOf(std::size_t section) const
    {
        return counterGroup(view_->scene().sections.at(section)).size();
    }
    std::size_t countersShown(std::size_t section) const
    {
        const TimelineScene& scene = view_->scene();
        const std::vector<std::size_t> group = counterGroup(scene.sections.at(section));
        return std::size_t(std::ranges::count_if(scene.layout.bands, [&](const Band& band) {
            return band.kind == Band::Kind::Lane && band.section == section &&
                   std::ranges::find(group, band.view) != group.end();
        }));
    }
    QRect labelOf(const Band& band) const
    {
        const TimelineScene& scene = view_->scene();
        const QSize size = view_->viewport()->size();
        return {0, scene.plot(size.width(), size.height()).top() + scene.topOf(band), scene.sizes.label,
                band.height};
    }
    void clickTitle(std::size_t section)
    {
        for (const Band& band : view_->scene().layout.bands)
            if (band.kind == Band::Kind::Counters && band.section == section) {
                QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, labelOf(band).center());
                return waitUntilSettled();
            }
        FAIL() << "the counters have no title";
    }

    TimelineView* view_ = nullptr;
    int file_ = 0;
};

TEST_F(CountersWindowTest, BothRunsAreSeenAtFirst)
{
    for (const QSize size : {QSize(1366, 768), QSize(1600, 1000)}) {
        window_.resize(size);
        selectBoth();
        ASSERT_EQ(view_->scene().sections.size(), 2U);
        ASSERT_GT(countersOf(0), 4U);
        const int height = view_->viewport()->height();
        for (const Band& band : view_->scene().layout.bands) {
            const bool isStream =
                band.kind == Band::Kind::Lane && view_->scene().laneOf(band).kind == Lane::Kind::Stream;
            if (band.kind == Band::Kind::Header || isStream) {
                EXPECT_LE(labelOf(band).bottom(), height)
                    << "a header or stream of run " << band.section << " is below the window";
            }
        }
        EXPECT_EQ(countersShown(0) + countersShown(1), 0U);
    }
}

TEST_F(CountersWindowTest, AClickOnTheirTitleShowsAndHidesThoseOfAllRuns)
{
    selectBoth();
    clickTitle(0);
    EXPECT_EQ(countersShown(0), countersOf(0));
    EXPECT_EQ(countersShown(1), countersOf(1));
    ViewHistory::of(*view_)->undo();
    waitUntilSettled();
    EXPECT_EQ(countersShown(0) + countersShown(1), 0U) << "one step to undo";
    clickTitle(0);
    clickTitle(0);
    EXPECT_EQ(countersShown(0) + countersShown(1), 0U);
}

TEST_F(CountersWindowTest, ThePeakOfALowMemoryLaneIsReadable)
{
    selectBoth();
    const TimelineScene& scene = view_->scene();
    for (const Band& band : scene.layout.bands) {
        if (band.kind != Band::Kind::Lane || scene.laneOf(band).kind != Lane::Kind::Memory)
            continue;
        const QRect lane(0, 200, view_->viewport()->width(), 12);
        TextRecorder recorder({lane.width(), 400});
        QPainter painter(&recorder);
        paintMemoryPeak(painter, scene, band, scene.memoryRange(), lane);
        painter.end();
        ASSERT_EQ(recorder.texts().size(), 1U);
        EXPECT_NEAR(recorder.texts()[0].rect.center().y(), 206, 1.5) << "the letters stand in the lane";
    }
}

TEST_F(CountersWindowTest, ARunAloneShowsThem)
{
    select({{file_, RunId{1}}});
    EXPECT_EQ(countersShown(0), countersOf(0));
}

} // namespace
} // namespace tilescope::ui
