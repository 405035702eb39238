// Undo and redo of what the user changes in views, by keyboard, and pinned lanes of the timeline.

#include "tests/ui/window_fixture.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_page.h"

#include <QAction>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenuBar>
#include <QScrollBar>
#include <QSettings>

namespace tilescope::ui {
namespace {

class UndoTest : public WindowTest {
protected:
    void SetUp() override
    {
        QSettings().clear();
        WindowTest::SetUp();
        view_ = &openTimeline();
    }

    ViewHistory& history() { return window_.workspace().history(); }
    void undo()
    {
        QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier);
        waitUntilSettled();
    }
    void redo()
    {
        QTest::keyClick(&window_, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        waitUntilSettled();
    }
    QString undoText()
    {
        for (const QAction* menu : window_.menuBar()->actions())
            for (const QAction* action : menu->menu()->actions())
                if (action->shortcut() == QKeySequence(QKeySequence::Undo))
                    return action->text();
        return {};
    }
    std::optional<Band> bandOf(std::size_t view) const
    {
        for (const Band& band : view_->scene().layout.bands)
            if (band.kind == Band::Kind::Lane && band.section == 0 && band.view == view)
                return band;
        return {};
    }

    TimelineView* view_ = nullptr;
};

TEST_F(UndoTest, AZoomIsUndoneFromAnotherPageWhichShowsIt)
{
    const TimeWindow before = view_->window();
    QTest::keyClick(view_, Qt::Key_W);
    const TimeWindow after = view_->window();
    ASSERT_NE(before, after);
    EXPECT_EQ(undoText(), QStringLiteral("Undo zoom"));
    clickRail(QStringLiteral("Kernels"));
    undo();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    EXPECT_EQ(view_->window(), before);
    redo();
    EXPECT_EQ(view_->window(), after);
}

TEST_F(UndoTest, SelectionsAndSpansAreUndone)
{
    const TimelineScene& scene = view_->scene();
    const QSize size = view_->viewport()->size();
    const QRect plot = scene.plot(size.width(), size.height());
    drag(*view_->viewport(), {plot.left() + 100, plot.bottom() - 20},
         {plot.left() + 300, plot.bottom() - 20});
    const std::optional<TimeWindow> span = scene.span;
    ASSERT_TRUE(span);
    EXPECT_EQ(undoText(), QStringLiteral("Undo selection"));
    undo();
    EXPECT_FALSE(scene.span);
    redo();
    EXPECT_EQ(scene.span, span);
}

TEST_F(UndoTest, ChoosingRunsEndsWhatWasOfTheRunsBefore)
{
    QTest::keyClick(view_, Qt::Key_W);
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().select({first, {first.file, RunId{2}}});
    waitUntilSettled();
    EXPECT_EQ(undoText(), QStringLiteral("Undo choice of runs"));
    undo();
    EXPECT_EQ(window_.workspace().selection(), std::vector{first});
    EXPECT_TRUE(history().undoName().isEmpty()) << "the window of the runs before is gone";
}

TEST_F(UndoTest, ALaneIsPinnedByAKeyAndUnpinnedByUndo)
{
    QTest::keyClick(view_, Qt::Key_Down, Qt::ControlModifier);
    QTest::keyClick(view_, Qt::Key_Down, Qt::ControlModifier);
    const std::optional<LanePlace> lane = view_->currentLane();
    ASSERT_TRUE(lane);
    QTest::keyClick(view_, Qt::Key_P, Qt::ShiftModifier);
    waitUntilSettled();
    ASSERT_TRUE(bandOf(lane->view)->isPinned);
    EXPECT_EQ(bandOf(lane->view)->top, 0);
    EXPECT_EQ(undoText(), QStringLiteral("Undo arrangement of lanes"));
    window_.resize(window_.width(), 520);
    waitUntilSettled();
    view_->verticalScrollBar()->setValue(view_->verticalScrollBar()->maximum());
    EXPECT_EQ(view_->scene().topOf(*bandOf(lane->view)), 0) << "it does not scroll";
    undo();
    EXPECT_FALSE(bandOf(lane->view)->isPinned);
}

TEST_F(UndoTest, PinnedLanesAreRemembered)
{
    view_->setPinned({0, 1}, true);
    ASSERT_TRUE(bandOf(1)->isPinned);
    const QString file = QString::fromStdString((folder_ / "lm.tscope").string());
    // It is written a while after the last change.
    ASSERT_TRUE(QTest::qWaitFor([&file] { return !LaneArrangement::read(file).lanes.empty(); }, kTimeoutMs));
    window_.closeFile();
    waitUntilSettled();
    window_.open({file});
    clickRail(QStringLiteral("Timeline"));
    waitUntilSettled();
    EXPECT_TRUE(bandOf(1)->isPinned);
}

TEST_F(UndoTest, TheCurrentLaneStaysWhereItIsWhileOthersFold)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    window_.resize(window_.width(), 520);
    waitUntilSettled();
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(view_->viewport(), &leave);
    std::optional<Band> lane;
    for (const Band& band : view_->scene().layout.bands)
        if (band.kind == Band::Kind::Lane && band.section == 1 && !lane)
            lane = band;
    ASSERT_TRUE(lane);
    view_->verticalScrollBar()->setValue(lane->top - 100);
    view_->setCurrentLane(LanePlace{1, lane->view});
    const int before = view_->scene().topOf(*lane);
    ASSERT_GT(view_->verticalScrollBar()->maximum(), view_->verticalScrollBar()->value() + 60)
        << "this test needs room to scroll";
    view_->setTall({0, 0}, 2); // in both runs
    for (const Band& band : view_->scene().layout.bands)
        if (band.kind == Band::Kind::Lane && band.section == 1 && band.view == lane->view) {
            EXPECT_EQ(view_->scene().topOf(band), before);
        }
}

TEST_F(UndoTest, TheFilterAndTheSortingOfATableAreUndone)
{
    clickRail(QStringLiteral("Kernels"));
    auto& filter = named<QLineEdit>(QStringLiteral("Filter kernels"));
    QTest::keyClicks(&filter, QStringLiteral("gemm"));
    QTest::keyClick(&filter, Qt::Key_Escape);
    EXPECT_EQ(undoText(), QStringLiteral("Undo filter"));
    auto& table = *window_.currentPage()->findChild<TableView*>();
    QHeaderView& header = *table.horizontalHeader();
    const int sorted = header.sortIndicatorSection();
    const int column = sorted == 1 ? 2 : 1;
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {},
                      {header.sectionViewportPosition(column) + 8, header.height() / 2});
    EXPECT_EQ(undoText(), QStringLiteral("Undo sorting"));
    undo();
    EXPECT_EQ(header.sortIndicatorSection(), sorted);
    undo();
    EXPECT_TRUE(filter.text().isEmpty());
    redo();
    EXPECT_EQ(filter.text(), QStringLiteral("gemm"));
}

} // namespace
} // namespace tilescope::ui
