// Play in the window: keys, the bar, and what is drawn meanwhile.

#include "tests/ui/window_fixture.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_play.h"

#include <QAction>
#include <QPushButton>
#include <QSettings>
#include <QSlider>

namespace tilescope::ui {
namespace {

using query::Lane;

class PlayWindowTest : public WindowTest {
protected:
    void SetUp() override
    {
        QSettings().clear();
        WindowTest::SetUp();
        clickRail(QStringLiteral("Timeline"));
        view_ = &page<TimelinePage>("timeline").view();
        view_->setFocus();
    }

    void select(std::vector<std::int64_t> runs)
    {
        const int file = window_.workspace().files()[0].id;
        std::vector<RunKey> keys;
        for (const std::int64_t run : runs)
            keys.push_back({file, RunId{run}});
        window_.workspace().select(keys);
        waitUntilSettled();
    }
    TimelinePlay& play() { return page<TimelinePage>("timeline").play(); }
    void key(int key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(view_, Qt::Key(key), modifiers);
    }
    // Plays until some time has passed, then pauses.
    void playSome()
    {
        key(Qt::Key_Space);
        ASSERT_TRUE(play().isRunning());
        const double before = play().moment().now;
        ASSERT_TRUE(QTest::qWaitFor([&] { return play().moment().now > before; }, kTimeoutMs));
        play().pause();
    }

    TimelineView* view_ = nullptr;
};

TEST_F(PlayWindowTest, SpacePlaysAndPausesAndEscShowsTheWholeRunsAgain)
{
    EXPECT_FALSE(play().isVisible());
    playSome();
    EXPECT_TRUE(play().isVisible());
    EXPECT_TRUE(view_->scene().play.has_value());
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Play"));
    const double paused = play().moment().now;
    QTest::qWait(50);
    EXPECT_EQ(play().moment().now, paused);
    key(Qt::Key_Space);
    EXPECT_TRUE(play().isRunning());
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Pause"));
    key(Qt::Key_Escape);
    EXPECT_FALSE(play().isOn());
    EXPECT_FALSE(view_->scene().play);
    EXPECT_FALSE(play().isVisible());
}

TEST_F(PlayWindowTest, StopsAtTheEndAndStartsAgain)
{
    key(Qt::Key_Space);
    play().goTo(play().moment().to);
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Play again"));
    key(Qt::Key_Space);
    EXPECT_TRUE(play().isRunning());
    EXPECT_LT(play().moment().now, play().moment().to);
}

TEST_F(PlayWindowTest, TheSliderMovesTheClockAndPauses)
{
    key(Qt::Key_Space);
    auto& slider = named<QSlider>(QStringLiteral("Instant of Play"));
    slider.setFocus();
    QTest::keyClick(&slider, Qt::Key_End);
    EXPECT_FALSE(play().isRunning());
    EXPECT_EQ(play().moment().now, play().moment().to);
    QTest::keyClick(&slider, Qt::Key_Home);
    EXPECT_EQ(play().moment().now, play().moment().from);
    QTest::keyClick(&slider, Qt::Key_PageUp);
    EXPECT_NEAR(play().moment().now, play().moment().to / 10, play().moment().to / 100);
}

TEST_F(PlayWindowTest, FullStopAndCommaGoToWhereKernelsBegin)
{
    key(Qt::Key_Space);
    play().goTo(play().moment().length() / 3);
    const TimelineSection& run = view_->scene().sections[0];
    const auto begins = [&](double now) {
        for (const Lane& lane : run.timeline->lanes)
            if (lane.kind == Lane::Kind::Stream)
                for (const query::Track& row : lane.rows)
                    if (const std::size_t at = row.firstFrom(std::int64_t(run.alignAt + now));
                        at < row.size() && double(row.start(at)) == run.alignAt + now)
                        return true;
        return false;
    };
    const double before = play().moment().now;
    key(Qt::Key_Period);
    const double first = play().moment().now;
    EXPECT_GT(first, before);
    EXPECT_TRUE(begins(first));
    key(Qt::Key_Period);
    EXPECT_GT(play().moment().now, first);
    EXPECT_TRUE(begins(play().moment().now));
    key(Qt::Key_Comma);
    EXPECT_EQ(play().moment().now, first);
}

TEST_F(PlayWindowTest, KeysChangeTheSpeedButNotTheInstant)
{
    key(Qt::Key_Space);
    play().goTo(play().moment().length() / 2);
    const double slowdown = play().slowdown();
    const double now = play().moment().now;
    key(Qt::Key_Less);
    EXPECT_GT(play().slowdown(), slowdown);
    key(Qt::Key_Greater);
    EXPECT_EQ(play().slowdown(), slowdown);
    EXPECT_EQ(play().moment().now, now);
}

TEST_F(PlayWindowTest, RunsSlowedDownAndStopsAtTheEnd)
{
    using namespace std::chrono_literals;
    key(Qt::Key_Space);
    play().goTo(play().moment().from);
    const PlayMoment before = play().moment();
    play().advance(4ms);
    EXPECT_DOUBLE_EQ(play().moment().now, before.from + 4e6 / play().slowdown());
    play().advance(1h);
    EXPECT_EQ(play().moment().now, before.to);
    play().goTo(before.from - 1);
    EXPECT_EQ(play().moment().now, before.from);
}

TEST_F(PlayWindowTest, TwoRunsShareOneClockAndTheFasterEndsFirst)
{
    select({1, 2});
    key(Qt::Key_Space);
    play().pause();
    const PlayMoment part = play().moment();
    ASSERT_EQ(part.ends.size(), 2U);
    ASSERT_LT(part.ends[1], part.ends[0]);
    play().goTo((part.ends[0] + part.ends[1]) / 2);
    const PlayMoment& moment = *view_->scene().play;
    EXPECT_TRUE(moment.hasEnded(1));
    EXPECT_FALSE(moment.hasEnded(0));
    EXPECT_EQ(moment.reached(1), part.ends[1]);
}

// The cursor does not find items that are not drawn yet.
TEST_F(PlayWindowTest, BoxesThatHaveNotRunAreNotThere)
{
    const TimelineScene& scene = view_->scene();
    const TimelineSection& run = scene.sections[0];
    const QSize size = view_->viewport()->size();
    key(Qt::Key_Space);
    play().pause();
    for (std::size_t lane = 0; lane < run.timeline->lanes.size(); ++lane) {
        if (run.timeline->lanes[lane].kind != Lane::Kind::Stream)
            continue;
        const query::Track& row = run.timeline->lanes[lane].rows[0];
        const std::size_t index = row.firstFrom(std::int64_t(run.alignAt + play().moment().length() / 2));
        const SectionItem item{0, {lane, 0, index}};
        view_->reveal(item);
        const QPoint middle = scene.rectOf(item, size.width(), size.height()).center();
        play().goTo(0);
        EXPECT_FALSE(scene.itemAt(middle, size.width(), size.height()));
        play().goTo(double(row.end(index)) - run.alignAt + 1);
        EXPECT_TRUE(scene.itemAt(middle, size.width(), size.height()));
        return;
    }
    FAIL() << "the run has no stream";
}

TEST_F(PlayWindowTest, OtherRunsEndPlay)
{
    key(Qt::Key_Space);
    select({2});
    EXPECT_FALSE(play().isOn());
    EXPECT_FALSE(view_->scene().play);
}

TEST_F(PlayWindowTest, WithoutATracedRunItSaysWhatIsMissing)
{
    select({3}); // ran out of memory, not traced
    play().toggleAction()->trigger();
    EXPECT_FALSE(play().isOn());
    EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("Nothing to play"))) << statusText(1).toStdString();
}

} // namespace
} // namespace tilescope::ui
