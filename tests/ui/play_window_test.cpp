// Play in the window: keys, the bar, what is drawn meanwhile, and the export.

#include "tests/ui/window_fixture.h"
#include "ui/timeline/play_bar.h"
#include "ui/timeline/play_dialog.h"
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
    TimelinePlayer& player() { return page<TimelinePage>("timeline").play().player(); }
    PlayBar& bar() { return *page<TimelinePage>("timeline").play().bar(); }
    void key(int key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(view_, Qt::Key(key), modifiers);
    }
    // Plays until some time has passed, then pauses.
    void playSome()
    {
        key(Qt::Key_Space);
        ASSERT_TRUE(player().isRunning());
        const double before = player().clock().now();
        ASSERT_TRUE(QTest::qWaitFor([&] { return player().clock().now() > before; }, kPatienceMs));
        player().pause();
    }

    TimelineView* view_ = nullptr;
};

TEST_F(PlayWindowTest, SpacePlaysAndPausesAndEscShowsTheWholeRunsAgain)
{
    EXPECT_FALSE(bar().isVisible());
    playSome();
    EXPECT_TRUE(bar().isVisible());
    EXPECT_TRUE(view_->scene().play.has_value());
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Play"));
    const double paused = player().clock().now();
    QTest::qWait(50);
    EXPECT_EQ(player().clock().now(), paused);
    key(Qt::Key_Space);
    EXPECT_TRUE(player().isRunning());
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Pause"));
    key(Qt::Key_Escape);
    EXPECT_FALSE(player().isOn());
    EXPECT_FALSE(view_->scene().play);
    EXPECT_FALSE(bar().isVisible());
}

TEST_F(PlayWindowTest, StopsAtTheEndAndStartsAgain)
{
    key(Qt::Key_Space);
    player().goTo(player().clock().part().to);
    EXPECT_EQ(named<QPushButton>(QStringLiteral("Play or pause")).text(), QStringLiteral("Play again"));
    key(Qt::Key_Space);
    EXPECT_TRUE(player().isRunning());
    EXPECT_LT(player().clock().now(), player().clock().part().to);
}

TEST_F(PlayWindowTest, TheSliderMovesTheClockAndPauses)
{
    key(Qt::Key_Space);
    auto& slider = named<QSlider>(QStringLiteral("Instant of Play"));
    slider.setFocus();
    QTest::keyClick(&slider, Qt::Key_End);
    EXPECT_FALSE(player().isRunning());
    EXPECT_EQ(player().clock().now(), player().clock().part().to);
    QTest::keyClick(&slider, Qt::Key_Home);
    EXPECT_EQ(player().clock().now(), player().clock().part().from);
    QTest::keyClick(&slider, Qt::Key_PageUp);
    EXPECT_NEAR(player().clock().now(), player().clock().part().to / 10, player().clock().part().to / 100);
}

TEST_F(PlayWindowTest, FullStopAndCommaGoToWhereKernelsBegin)
{
    key(Qt::Key_Space);
    player().goTo(player().clock().part().length() / 3);
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
    const double before = player().clock().now();
    key(Qt::Key_Period);
    const double first = player().clock().now();
    EXPECT_GT(first, before);
    EXPECT_TRUE(begins(first));
    key(Qt::Key_Period);
    EXPECT_GT(player().clock().now(), first);
    EXPECT_TRUE(begins(player().clock().now()));
    key(Qt::Key_Comma);
    EXPECT_EQ(player().clock().now(), first);
}

TEST_F(PlayWindowTest, KeysChangeTheSpeedButNotTheInstant)
{
    key(Qt::Key_Space);
    player().goTo(player().clock().part().length() / 2);
    const double slowdown = player().clock().slowdown();
    const double now = player().clock().now();
    key(Qt::Key_Less);
    EXPECT_GT(player().clock().slowdown(), slowdown);
    key(Qt::Key_Greater);
    EXPECT_EQ(player().clock().slowdown(), slowdown);
    EXPECT_EQ(player().clock().now(), now);
}

TEST_F(PlayWindowTest, TwoRunsShareOneClockAndTheFasterEndsFirst)
{
    select({1, 2});
    key(Qt::Key_Space);
    player().pause();
    const PlayPart& part = player().clock().part();
    ASSERT_EQ(part.ends.size(), 2U);
    ASSERT_LT(part.ends[1], part.ends[0]);
    player().goTo((part.ends[0] + part.ends[1]) / 2);
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
    player().pause();
    for (std::size_t lane = 0; lane < run.timeline->lanes.size(); ++lane) {
        if (run.timeline->lanes[lane].kind != Lane::Kind::Stream)
            continue;
        const query::Track& row = run.timeline->lanes[lane].rows[0];
        const std::size_t index =
            row.firstFrom(std::int64_t(run.alignAt + player().clock().part().length() / 2));
        const SectionItem item{0, {lane, 0, index}};
        view_->reveal(item);
        const QPoint middle = scene.rectOf(item, size.width(), size.height()).center();
        player().goTo(0);
        EXPECT_FALSE(scene.itemAt(middle, size.width(), size.height()));
        player().goTo(double(row.end(index)) - run.alignAt + 1);
        EXPECT_TRUE(scene.itemAt(middle, size.width(), size.height()));
        return;
    }
    FAIL() << "the run has no stream";
}

TEST_F(PlayWindowTest, OtherRunsEndPlay)
{
    key(Qt::Key_Space);
    select({2});
    EXPECT_FALSE(player().isOn());
    EXPECT_FALSE(view_->scene().play);
}

TEST_F(PlayWindowTest, WithoutATracedRunItSaysWhatIsMissing)
{
    select({3}); // ran out of memory, not traced
    page<TimelinePage>("timeline").play().toggle()->trigger();
    EXPECT_FALSE(player().isOn());
    EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("Nothing to play"))) << statusText(1).toStdString();
}

TEST_F(PlayWindowTest, ExportsAndConfirmsIt)
{
    select({1, 2});
    key(Qt::Key_Space);
    QTest::mouseClick(&named<QPushButton>(QStringLiteral("Export Play")), Qt::LeftButton);
    EXPECT_FALSE(player().isRunning()) << "it pauses";
    auto* dialog = window_.findChild<PlayDialog*>();
    ASSERT_NE(dialog, nullptr);
    const std::filesystem::path file = folder_ / "play.svg";
    dialog->write(QString::fromStdString(file.string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return std::filesystem::exists(file); }, kPatienceMs));
    auto& strip = named<QWidget>(QStringLiteral("Confirmation"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return strip.isVisible(); }, kPatienceMs));
    const QString words = strip.findChild<QLabel*>(QStringLiteral("message"))->text();
    EXPECT_TRUE(words.startsWith(QStringLiteral("Wrote "))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("play.svg: "))) << words.toStdString();
    const QList<QPushButton*> buttons = strip.findChildren<QPushButton*>();
    ASSERT_EQ(buttons.size(), 2);
    EXPECT_EQ(buttons[0]->text(), QStringLiteral("Open folder"));
    QTest::mouseClick(buttons[1], Qt::LeftButton);
    EXPECT_FALSE(strip.isVisible());
}

} // namespace
} // namespace tilescope::ui
