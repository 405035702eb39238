#pragma once

#include "core/session/supervisor/supervisor.h"
#include "ui/experiment/place_state.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

class QThread;

namespace tilescope::hosts {
class StartedWork;
}

namespace tilescope::ui {

using SweepPoints = std::shared_ptr<const std::vector<session::SweepPoint>>;

/// Emitted at the end of a sweep or of a part of a sweep.
struct SweepEnd {
    bool cancelled = false;
    SweepPoints left = {};    ///< points not begun because it was paused; null if there are none
    QString failure = {};     ///< why it could not start or continue; empty if it could
    bool isLeft = false;      ///< on a host, where it goes on
    std::int64_t arrived = 0; ///< runs that a host sent
};

/// Where a sweep runs.
struct SweepPlace {
    QString host = {}; ///< its name in the user's list; empty: this machine
    QString name = {}; ///< of the sweep, noted for the next program
    /// A sweep on the host that an earlier program started; null: it is started.
    std::shared_ptr<hosts::StartedWork> started = {};
};

/// Runs one sweep at a time in engine processes, here or on a host, from a separate thread. Emits signals in its own
/// thread (the GUI's), never during a call to it; only the destructor blocks.
class SweepWorker : public QObject {
    Q_OBJECT
public:
    explicit SweepWorker(QObject* parent = nullptr);
    /// Stops the sweep and waits for the engine to end: first for its step, soon by force. A sweep on a host is left and
    /// goes on.
    ~SweepWorker() override;

    bool isRunning() const { return thread_ != nullptr; }
    /// Whether cancel() was called for the sweep that runs.
    bool isStopping() const { return stop_.stop_requested(); }

    /// Starts a sweep. The stop tokens of `options` are replaced.
    /// \pre nothing runs
    /// \param onlyMissing  skips the points that the file already holds
    void start(SweepPoints points, session::SweepOptions options, bool onlyMissing = false,
               SweepPlace place = {});
    /// Ends the sweep when the point that runs is done.
    void pause();
    /// Asks the sweep to stop after its step; a second time ends the engine at once.
    void cancel();

signals:
    /// The file holds these points of the sweep (SweepPoint::index): they are not run again.
    void passedOver(const std::vector<std::int64_t>& indexes);
    /// Events since the last signal, in order; samples are thinned if they come faster than they can be
    /// shown.
    void reported(const std::vector<tilescope::session::Event>& events);
    /// The connection to the host does something else.
    void placeChanged(const tilescope::ui::PlaceState& state);
    /// Runs of a sweep on a host were added to the file.
    void runsArrived();
    /// The sweep has ended and all its events have been delivered.
    void finished(const tilescope::ui::SweepEnd& end);

private:
    struct Pending;

    void deliver();
    void end();

    std::shared_ptr<Pending> pending_;
    QThread* thread_ = nullptr;
    std::stop_source pause_;
    std::stop_source stop_;
    std::stop_source atOnce_;
    std::stop_source leave_;
    bool isOnHost_ = false;
};

} // namespace tilescope::ui
