#pragma once

#include "ui/timeline/play_clock.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace tilescope::ui {

class TimelineView;

/// Plays the runs of a timeline: moves a clock in real time and shows its instant in the view. GUI thread.
class TimelinePlayer : public QObject {
    Q_OBJECT
public:
    TimelinePlayer(TimelineView& view, QObject* parent);

    bool isOn() const { return isOn_; } ///< running, paused or at the end
    bool isRunning() const { return timer_.isActive(); }
    const PlayClock& clock() const { return clock_; }

    /// Whether the view is shown; otherwise nothing can be played, and Play ends.
    void setShown(bool isShown);
    /// Starts, pauses and resumes; at the end starts again. Starts paused if the user prefers reduced motion.
    void toggle();
    void pause();
    /// Shows the whole runs again.
    void end();
    /// Moves to an instant and pauses.
    void goTo(double now);
    /// Moves to where the next (1) or previous (-1) box of any run begins, and pauses.
    void step(int by);
    void setSlowdown(double slowdown);
    /// Chooses the next slower (1) or faster (-1) speed.
    void changeSpeed(int by);

signals:
    /// Emitted when the play starts, pauses, ends, or shows another instant.
    void changed();
    /// There is nothing to play.
    void problem(const QString& sentence);

private:
    bool begin();
    void run();
    void tick();
    void show();

    TimelineView& view_;
    PlayClock clock_;
    bool isShown_ = false;
    bool isOn_ = false;
    TimeWindow before_; ///< window shown before the play
    TimeWindow during_; ///< window shown during the play
    QTimer timer_;
    QElapsedTimer elapsed_;
};

} // namespace tilescope::ui
