#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QPoint>

#include <optional>

class QMouseEvent;

namespace tilescope::ui {

class TimelineView;

/// The effect of dragging in a timeline: it pans, selects a span, moves the window of the overview strip, or moves and
/// resizes lanes. A press without a drag selects a box or folds a lane. Part of the view; GUI thread.
class TimelineDrag {
public:
    explicit TimelineDrag(TimelineView& view) : view_(view) {}

    void press(const QMouseEvent& event);
    /// Without a button, only the shape of the cursor changes.
    void move(QPoint at);
    void release(QPoint at);
    bool isOn() const { return kind_ != Kind::None; }
    void cancel() { kind_ = Kind::None; }

private:
    enum class Kind { None, Pan, Span, OverviewMove, OverviewLeft, OverviewRight, Lane, LaneHeight };

    int width() const;
    int height() const;
    const Band* laneBandAt(QPoint at) const;
    /// Whether a point is at the lower edge of an open lane, by which it is resized.
    bool isAtEdge(const Band& band, QPoint at) const;
    const LaneView& viewOf(LanePlace place) const;
    void pressOnOverview(QPoint at);
    void pressOnLabel(QPoint at);
    void moveOverview(QPoint at);
    void moveLane(QPoint at);
    void dropLane(QPoint at);
    void shapeCursor(QPoint at);

    TimelineView& view_;
    Kind kind_ = Kind::None;
    QPoint pressedAt_;
    TimeWindow pressedWindow_;
    std::optional<TimeWindow> pressedSpan_;
    std::optional<LanePlace> pressedLane_;
    double pressedTall_ = 1;
};

} // namespace tilescope::ui
