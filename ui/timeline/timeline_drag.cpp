#include "ui/timeline/timeline_drag.h"

#include "ui/timeline/timeline_view.h"

#include <QApplication>
#include <QMouseEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kEdge = 3; // pixels around a lane's lower edge by which it is resized

} // namespace

int TimelineDrag::width() const
{
    return view_.viewport()->width();
}

int TimelineDrag::height() const
{
    return view_.viewport()->height();
}

const Band* TimelineDrag::laneBandAt(QPoint at) const
{
    const Band* band = view_.scene().bandAt(at, width(), height());
    return band != nullptr && band->kind == Band::Kind::Lane ? band : nullptr;
}

const LaneView& TimelineDrag::viewOf(LanePlace place) const
{
    return view_.scene().sections.at(place.section).lanes.at(place.view);
}

bool TimelineDrag::isAtEdge(const Band& band, QPoint at) const
{
    const TimelineScene& scene = view_.scene();
    const int bottom = scene.plot(width(), height()).top() + scene.topOf(band) + band.height;
    return bottom - at.y() <= kEdge && !viewOf({band.section, band.view}).folded;
}

void TimelineDrag::press(const QMouseEvent& event)
{
    const TimelineScene& scene = view_.scene();
    if (scene.sections.empty())
        return;
    const QPoint at = event.pos();
    pressedAt_ = at;
    pressedWindow_ = scene.window;
    pressedSpan_ = scene.span;
    if (event.button() == Qt::MiddleButton) {
        kind_ = Kind::Pan;
        view_.viewport()->setCursor(Qt::ClosedHandCursor);
    } else if (event.button() == Qt::LeftButton) {
        if (scene.overview(width()).contains(at))
            pressOnOverview(at);
        else if (const auto note = scene.noteAt(at, width()))
            emit view_.noteClicked(*note);
        else if (at.x() < scene.sizes.label)
            pressOnLabel(at);
        else
            kind_ = Kind::Span;
    }
    view_.viewport()->update();
}

void TimelineDrag::pressOnOverview(QPoint at)
{
    const TimelineScene& scene = view_.scene();
    const TimeWindow whole = wholeWindow(scene.sections);
    const double grip = whole.length() / std::max(1, width() - scene.sizes.label) * 6;
    const double axis = scene.overviewAxisAt(at.x(), width());
    if (std::abs(axis - scene.window.from) < grip)
        kind_ = Kind::OverviewLeft;
    else if (std::abs(axis - scene.window.to) < grip)
        kind_ = Kind::OverviewRight;
    else
        kind_ = Kind::OverviewMove;
    if (kind_ == Kind::OverviewMove && (axis < scene.window.from || axis > scene.window.to)) {
        view_.setWindow(scene.window.panned(axis - (scene.window.from + scene.window.to) / 2));
        pressedWindow_ = scene.window;
    }
}

void TimelineDrag::pressOnLabel(QPoint at)
{
    if (const Band* title = view_.scene().bandAt(at, width(), height());
        title != nullptr && title->kind == Band::Kind::Counters)
        return view_.toggleCounters(title->section);
    const Band* band = laneBandAt(at);
    if (band == nullptr)
        return;
    pressedLane_ = LanePlace{band->section, band->view};
    pressedTall_ = viewOf(*pressedLane_).tall;
    kind_ = isAtEdge(*band, at) ? Kind::LaneHeight : Kind::Lane;
}

void TimelineDrag::shapeCursor(QPoint at)
{
    const Band* band = at.x() < view_.scene().sizes.label ? laneBandAt(at) : nullptr;
    if (band != nullptr && isAtEdge(*band, at))
        view_.viewport()->setCursor(Qt::SplitVCursor);
    else
        view_.viewport()->unsetCursor();
}

void TimelineDrag::move(QPoint at)
{
    const TimelineScene& scene = view_.scene();
    switch (kind_) {
    case Kind::None:
        return shapeCursor(at);
    case Kind::Lane:
    case Kind::LaneHeight:
        return moveLane(at);
    case Kind::Pan:
        return view_.setWindow(pressedWindow_.panned((pressedAt_.x() - at.x()) * scene.perPixel(width())),
                               false);
    case Kind::Span:
        if (std::abs(at.x() - pressedAt_.x()) >= QApplication::startDragDistance() / 2) {
            const double a = scene.axisAt(pressedAt_.x(), width());
            const double b = scene.axisAt(at.x(), width());
            view_.setSpan(TimeWindow{std::min(a, b), std::max(a, b)});
        }
        return;
    case Kind::OverviewMove:
    case Kind::OverviewLeft:
    case Kind::OverviewRight:
        return moveOverview(at);
    }
}

void TimelineDrag::moveOverview(QPoint at)
{
    const TimelineScene& scene = view_.scene();
    const double axis = scene.overviewAxisAt(at.x(), width());
    TimeWindow window = pressedWindow_;
    if (kind_ == Kind::OverviewMove)
        window = window.panned(axis - scene.overviewAxisAt(pressedAt_.x(), width()));
    else if (kind_ == Kind::OverviewLeft)
        window.from = std::min(axis, window.to - TimelineView::kShortestWindow);
    else
        window.to = std::max(axis, window.from + TimelineView::kShortestWindow);
    view_.setWindow(window, false);
}

void TimelineDrag::moveLane(QPoint at)
{
    const int moved = at.y() - pressedAt_.y();
    if (kind_ == Kind::LaneHeight) {
        for (const Band& band : view_.scene().layout.bands) {
            if (band.kind != Band::Kind::Lane || LanePlace{band.section, band.view} != *pressedLane_)
                continue;
            const double usual = band.height / viewOf(*pressedLane_).tall;
            return view_.setTall(*pressedLane_, pressedTall_ + moved / std::max(1.0, usual));
        }
        return;
    }
    if (std::abs(moved) < QApplication::startDragDistance())
        return;
    const Band* band = laneBandAt(at);
    view_.viewport()->setCursor(Qt::ClosedHandCursor);
    if (band != nullptr && band->section == pressedLane_->section)
        view_.setLaneDropAt(view_.scene().topOf(*band) +
                            (band->view > pressedLane_->view ? band->height : 0));
    else
        view_.setLaneDropAt({});
}

// A click folds, a drag moves.
void TimelineDrag::dropLane(QPoint at)
{
    const LanePlace place = *pressedLane_;
    const bool dragged = std::abs(at.y() - pressedAt_.y()) >= QApplication::startDragDistance();
    const bool moves = view_.scene().laneDropAt.has_value();
    view_.setLaneDropAt({});
    pressedLane_.reset();
    if (!dragged)
        return view_.setFolded(place, !viewOf(place).folded);
    const Band* band = laneBandAt(at);
    if (moves && band != nullptr && band->section == place.section)
        view_.moveLane(place, band->view);
}

void TimelineDrag::release(QPoint at)
{
    const bool clicked =
        kind_ == Kind::Span && (at - pressedAt_).manhattanLength() < QApplication::startDragDistance() / 2;
    if (isOn() && kind_ != Kind::Span && pressedWindow_ != view_.scene().window)
        view_.rememberWindow(pressedWindow_);
    const bool isLane = kind_ == Kind::Lane;
    if (kind_ == Kind::Span && !clicked)
        view_.rememberSelection(view_.scene().selected, pressedSpan_);
    kind_ = Kind::None;
    if (isLane)
        dropLane(at);
    view_.viewport()->unsetCursor();
    if (clicked) {
        view_.setSpan({});
        view_.select(view_.scene().itemAt(at, width(), height()));
    }
}

} // namespace tilescope::ui
