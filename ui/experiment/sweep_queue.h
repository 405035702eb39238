#pragma once

#include "ui/experiment/sweep_worker.h"

#include <QElapsedTimer>
#include <QObject>
#include <QString>

#include <deque>
#include <optional>

namespace tilescope::ui {

struct SweepPlan;

/// A sweep that is to be run into a file.
struct SweepJob {
    int id = 0; ///< given by the queue
    QString name;
    SweepPoints points;
    std::shared_ptr<const SweepPlan> plan = {}; ///< for views that show the sweep; may be null
    QString file;
    bool onlyMissing = false; ///< skips the points that the file already holds
    QString host = {};        ///< where it runs, by its name in the user's list; empty: this machine
    /// A sweep on that host that an earlier program started; null: it is started.
    std::shared_ptr<hosts::StartedWork> started = {};
};

/// Runs the sweeps of one place, this machine or a host, one after the other. Owns the worker that runs them. GUI
/// thread; only the destructor blocks, which ends the engine; a sweep on a host goes on there.
///
/// Pausing lets the engine finish its point and end, so that a paused sweep holds no device; resuming starts
/// a new one. A sweep that could not be run at all pauses the queue: the next would probably fail too.
class SweepQueue : public QObject {
    Q_OBJECT
public:
    enum class State {
        Idle,     ///< nothing runs and the queue is empty
        Running,  ///< at work
        Pausing,  ///< pauses after the running point
        Stopping, ///< stops after the running step
        Held      ///< paused, with or without a started sweep
    };

    explicit SweepQueue(QObject* parent = nullptr) : SweepQueue(QString(), parent) {}
    /// \param host  the place by its name in the user's list; empty: this machine
    SweepQueue(QString host, QObject* parent);

    /// Starts immediately if no sweep runs or is paused.
    /// \return its id
    int add(SweepJob job);
    /// Removes a queued sweep; false if it is not queued any more.
    bool remove(int id);
    /// Moves it within the queue.
    /// \param by  -1: one earlier
    bool move(int id, int by);
    void removeAll();

    const QString& host() const { return host_; }
    /// What the connection to the host is doing.
    const PlaceState& place() const { return place_; }
    State state() const;
    bool isRunning() const { return worker_->isRunning(); }
    /// The running or paused sweep; null if there is none.
    const SweepJob* current() const { return current_ ? &*current_ : nullptr; }
    const std::deque<SweepJob>& waiting() const { return waiting_; }
    /// Whether the current sweep or a queued one has a point of this spec and writes this file.
    bool holds(const QString& file, const ExperimentSpec& spec) const;
    /// Applies to the engines of sweeps that start from now on.
    void setTimeouts(const session::Timeouts& timeouts) { timeouts_ = timeouts; }
    /// How long the current sweep, or the last one, has been running, pauses not counted.
    double activeSeconds() const;

    void pause();
    /// Resumes the current sweep, or starts the next one.
    void resume();
    /// Ends the current sweep after its step (a second call: at once). The next one starts then.
    void cancel();

signals:
    /// The state, the current sweep or the queue has changed.
    void changed();
    /// current() begins, not after a pause.
    void began();
    /// place() has changed.
    void placeChanged();
    /// Runs of a sweep on a host were added to its file.
    void runsArrived();
    void passedOver(const std::vector<std::int64_t>& indexes);
    void reported(const std::vector<tilescope::session::Event>& events);
    /// The current sweep is over (it is not current any more), or, where points are left, it is paused.
    void ended(const tilescope::ui::SweepEnd& end);

private:
    void launch(SweepPoints points, bool onlyMissing);
    void startNext();
    void partEnded(const SweepEnd& end);

    QString host_;
    PlaceState place_;
    SweepWorker* worker_;
    std::deque<SweepJob> waiting_;
    std::optional<SweepJob> current_;
    SweepPoints left_; ///< of the current sweep, while it is paused
    bool held_ = false;
    int nextId_ = 1;
    session::Timeouts timeouts_;
    QElapsedTimer sinceLaunch_;
    double secondsBefore_ = 0; ///< of the current sweep, before the last pause
};

} // namespace tilescope::ui
