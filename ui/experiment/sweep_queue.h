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
    std::shared_ptr<const SweepPlan> plan = {}; ///< for those who show it; may be null
    QString file;
    bool onlyMissing = false; ///< passes over the points that the file holds already
};

/// Sweeps one after the other: those that wait, in order, and the one that runs or stands paused. Owns the
/// worker that runs them. GUI thread; no call blocks but the destructor, which ends the engine.
///
/// Pausing lets the engine finish its point and end, so that a paused sweep holds no device; going on starts
/// a fresh one. A sweep that could not be run at all holds the queue: the next would hardly fare better.
class SweepQueue : public QObject {
    Q_OBJECT
public:
    enum class State {
        Idle,     ///< nothing runs and nothing waits
        Running,  ///< at work
        Pausing,  ///< the point that runs is the last for now
        Stopping, ///< the sweep ends after its step
        Held      ///< paused, with or without a sweep that has begun
    };

    explicit SweepQueue(QObject* parent = nullptr);

    /// Begins at once where nothing runs or is held.
    /// \return  its id
    int add(SweepJob job);
    /// Takes a waiting sweep out; false where it waits no more.
    bool remove(int id);
    /// Changes its place among those that wait.
    /// \param by  -1: one earlier
    bool move(int id, int by);
    void removeAll();

    State state() const;
    bool isRunning() const { return worker_->isRunning(); }
    /// The sweep that runs or stands paused; null where there is none.
    const SweepJob* current() const { return current_ ? &*current_ : nullptr; }
    const std::deque<SweepJob>& waiting() const { return waiting_; }
    /// How long the current sweep, or the last one, has been running, pauses not counted.
    double activeSeconds() const;

    void pause();
    /// Goes on with the current sweep or the next one.
    void resume();
    /// Ends the current sweep after its step; a second time at once. The next one begins then.
    void cancel();

signals:
    /// State, current sweep or those that wait are others.
    void changed();
    /// current() begins, not after a pause.
    void began();
    void passedOver(const std::vector<std::int64_t>& indexes);
    void told(const std::vector<tilescope::session::Event>& events);
    /// The current sweep is over (it is not current any more), or, where points are left, it is paused.
    void ended(const tilescope::ui::SweepEnd& end);

private:
    void launch(SweepPoints points, bool onlyMissing);
    void startNext();
    void partEnded(const SweepEnd& end);

    SweepWorker* worker_;
    std::deque<SweepJob> waiting_;
    std::optional<SweepJob> current_;
    SweepPoints left_; ///< of the current sweep, while it is paused
    bool held_ = false;
    int nextId_ = 1;
    QElapsedTimer sinceLaunch_;
    double secondsBefore_ = 0; ///< of the current sweep, before the last pause
};

} // namespace tilescope::ui
