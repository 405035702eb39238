#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QElapsedTimer>
#include <QFrame>
#include <QTimer>

#include <chrono>

class QAction;
class QLabel;
class QPainter;
class QPushButton;
class QSlider;

namespace tilescope::ui {

class ComboBox;
class TimelineView;
struct TimelineScene;

/// The part at which runs are aligned: a step, a range of it, or the whole recording; only its visible
/// portion if the window does not show all of it.
/// \return  at its start; null if no run has it
std::optional<PlayMoment> partToPlay(const std::vector<TimelineSection>& sections, const TimeWindow& window);

/// The slow-down, 1, 2 or 5 times a power of ten, by which a part of `length` nanoseconds lasts about six seconds.
/// Below 1 for recordings that are longer.
double usualSlowdown(double length);
/// The slow-downs to choose from, fastest first: twenty times as fast as usual to twenty times as slow.
std::vector<double> slowdownsFor(double length);
/// "1000× slower", "at its own speed", "20× faster".
QString slowdownText(double slowdown);

/// Draws the progress of a run during play in its header: the part, the time, and at the end of all runs the difference from
/// the first one.
/// \param x     left edge of the text
/// \param area  area of the header
/// \pre  scene.play
void paintPlayWords(QPainter& painter, const TimelineScene& scene, std::size_t section, double x,
                    const QRect& area);

/// Play on the Timeline page: a clock that runs through the aligned part of the runs in slow motion, its keys, and the bar
/// below the tools, which is hidden unless something is played. GUI thread.
class TimelinePlay : public QFrame {
    Q_OBJECT
public:
    explicit TimelinePlay(TimelineView& view, QWidget* parent = nullptr);

    bool isOn() const { return isOn_; } ///< running, paused or at the end
    bool isRunning() const { return timer_.isActive(); }
    const PlayMoment& moment() const { return moment_; }
    double slowdown() const { return slowdown_; } ///< real nanoseconds for one that was recorded
    QAction* toggleAction() const { return toggleAction_; }

    /// Whether the view is shown; otherwise nothing can be played, and Play ends.
    void setShown(bool isShown);
    /// Starts, pauses and resumes; at the end starts again. Starts paused if the user prefers reduced motion.
    void toggle();
    void pause();
    /// Shows the whole runs again.
    void end();
    /// Moves to an instant of the part, or to its start or end from outside, and pauses.
    void goTo(double now);
    /// Moves to where the next (1) or previous (-1) box of any run begins, and pauses.
    void step(int by);
    /// Chooses the next slower (1) or faster (-1) speed.
    void changeSpeed(int by);
    /// Lets real time pass, until the end of the part.
    void advance(std::chrono::nanoseconds real);

signals:
    /// Why nothing can be played, for the status bar.
    void said(const QString& sentence);

private:
    void makeBar();
    void makeActions();
    bool begin();
    void run();
    void tick();
    void show(double now);
    void setSlowdown(double slowdown);
    void followClock();

    TimelineView& view_;
    QPushButton* toggle_;
    QSlider* slider_;
    QLabel* time_;
    ComboBox* speed_;
    QAction* toggleAction_ = nullptr;
    PlayMoment moment_;
    double slowdown_ = 1;
    std::vector<double> slowdowns_; ///< of the list
    bool isShown_ = false;
    bool isOn_ = false;
    TimeWindow before_; ///< window shown before the play
    TimeWindow during_; ///< window shown during the play
    QTimer timer_;
    QElapsedTimer elapsed_;
};

} // namespace tilescope::ui
