// What mouse, wheel and keyboard do to a timeline.

#include "ui/theme/theme.h"
#include "ui/timeline/timeline_view.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

// Mouse
// ----------------------------------------------------------------------------------------------------------

void TimelineView::zoom(double factor, double x)
{
    setWindow(scene_.window.zoomed(factor, scene_.axisAt(x, width())));
}

void TimelineView::wheelEvent(QWheelEvent* event)
{
    const double turns =
        event->angleDelta().y() != 0 ? event->angleDelta().y() / 120.0 : event->angleDelta().x() / 120.0;
    if (event->modifiers() & Qt::ControlModifier)
        zoom(std::pow(0.8, turns), event->position().x());
    else if ((event->modifiers() & Qt::ShiftModifier) || event->angleDelta().y() == 0)
        setWindow(scene_.window.panned(-turns * scene_.window.length() * 0.1));
    else
        verticalScrollBar()->setValue(verticalScrollBar()->value() - int(turns * 3 * scene_.sizes.op));
    event->accept();
}

double TimelineView::overviewAxisAt(double x) const
{
    const TimeWindow whole = wholeWindow(scene_.sections);
    const double plotWidth = std::max(1, width() - scene_.sizes.label - sizes().of(8));
    return whole.from + (x - scene_.sizes.label) / plotWidth * whole.length();
}

void TimelineView::pressOnOverview(QPoint at)
{
    const TimeWindow whole = wholeWindow(scene_.sections);
    const double grip = whole.length() / std::max(1, width() - scene_.sizes.label) * 6;
    const double axis = overviewAxisAt(at.x());
    if (std::abs(axis - scene_.window.from) < grip)
        drag_ = Drag::OverviewLeft;
    else if (std::abs(axis - scene_.window.to) < grip)
        drag_ = Drag::OverviewRight;
    else
        drag_ = Drag::OverviewMove;
    if (drag_ == Drag::OverviewMove && (axis < scene_.window.from || axis > scene_.window.to)) {
        setWindow(scene_.window.panned(axis - (scene_.window.from + scene_.window.to) / 2));
        pressedWindow_ = scene_.window;
    }
}

void TimelineView::mousePressEvent(QMouseEvent* event)
{
    if (scene_.sections.empty())
        return;
    const QPoint at = event->pos();
    pressedAt_ = at;
    pressedWindow_ = scene_.window;
    if (event->button() == Qt::MiddleButton) {
        drag_ = Drag::Pan;
        viewport()->setCursor(Qt::ClosedHandCursor);
    } else if (event->button() == Qt::LeftButton) {
        if (scene_.overview(width()).contains(at))
            pressOnOverview(at);
        else if (const auto note = noteAt(at))
            emit noteClicked(*note);
        else if (at.x() < scene_.sizes.label)
            pressOnLabel(at);
        else
            drag_ = Drag::Span;
    }
    viewport()->update();
}

void TimelineView::dragOverview(QPoint at)
{
    const double axis = overviewAxisAt(at.x());
    TimeWindow window = pressedWindow_;
    if (drag_ == Drag::OverviewMove)
        window = window.panned(axis - overviewAxisAt(pressedAt_.x()));
    else if (drag_ == Drag::OverviewLeft)
        window.from = std::min(axis, window.to - kShortestWindow);
    else
        window.to = std::max(axis, window.from + kShortestWindow);
    setWindow(window, false);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint at = event->pos();
    switch (drag_) {
    case Drag::None:
        updateCursorShape(at);
        hover(at);
        return;
    case Drag::Lane:
    case Drag::LaneHeight:
        dragLane(at);
        return;
    case Drag::Pan:
        setWindow(pressedWindow_.panned((pressedAt_.x() - at.x()) * scene_.perPixel(width())), false);
        return;
    case Drag::Span:
        if (std::abs(at.x() - pressedAt_.x()) >= QApplication::startDragDistance() / 2) {
            const double a = scene_.axisAt(pressedAt_.x(), width());
            const double b = scene_.axisAt(at.x(), width());
            setSpan(TimeWindow{std::min(a, b), std::max(a, b)});
        }
        return;
    case Drag::OverviewMove:
    case Drag::OverviewLeft:
    case Drag::OverviewRight:
        dragOverview(at);
        return;
    }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event)
{
    const bool clicked = drag_ == Drag::Span && (event->pos() - pressedAt_).manhattanLength() <
                                                    QApplication::startDragDistance() / 2;
    if (drag_ != Drag::None && drag_ != Drag::Span && pressedWindow_ != scene_.window) {
        past_.push_back(pressedWindow_);
        future_.clear();
        sinceMove_.invalidate();
        emit windowChanged();
    }
    const bool lane = drag_ == Drag::Lane;
    drag_ = Drag::None;
    if (lane)
        dropLane(event->pos());
    viewport()->unsetCursor();
    if (clicked) {
        setSpan({});
        select(scene_.itemAt(event->pos(), width(), height()));
    }
    hover(event->pos());
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const auto item = scene_.itemAt(event->pos(), width(), height())) {
        select(item);
        zoomToSelection();
    }
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event)
{
    if (scene_.sections.empty())
        return;
    if (event->reason() == QContextMenuEvent::Keyboard) {
        emit menuWanted(commandPoint(), scene_.currentLane.has_value());
        return;
    }
    const QPoint at = event->pos();
    const Band* band = bandAt(at);
    const bool onLane = at.x() < scene_.sizes.label && band != nullptr && band->kind == Band::Kind::Lane;
    if (onLane)
        setCurrentLane(LanePlace{band->section, band->view});
    else if (const auto item = scene_.itemAt(at, width(), height()))
        select(item);
    cursor_ = at;
    emit menuWanted(at, onLane);
}

// What keys do
// ------------------------------------------------------------------------------------------------------------------

void TimelineView::zoomBy(double factor)
{
    zoom(factor, cursor_.x() >= scene_.sizes.label ? cursor_.x() : (width() + scene_.sizes.label) / 2.0);
}

void TimelineView::pan(double share)
{
    setWindow(scene_.window.panned(share * scene_.window.length()));
}

void TimelineView::scrollLanes(int by)
{
    verticalScrollBar()->triggerAction(by < 0 ? QScrollBar::SliderSingleStepSub
                                              : QScrollBar::SliderSingleStepAdd);
}

void TimelineView::clearSelection()
{
    setSpan({});
    select({});
    setCurrentLane({});
}

} // namespace tilescope::ui
