#pragma once

#include "core/session/supervisor/supervisor.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

class QThread;

namespace tilescope::ui {

using SweepPoints = std::shared_ptr<const std::vector<session::SweepPoint>>;

/// How a sweep, or a part of one, came to its end.
struct SweepEnd {
    bool cancelled = false;
    SweepPoints left = {}; ///< points not begun because it was paused; null where there are none
    QString failure = {};  ///< why it could not begin or go on; empty where it could
};

/// Runs one sweep at a time in engine processes, from a thread of its own. Its signals come in the thread
/// that it lives in (the GUI's), never while a call to it is under way; no call blocks but the destructor.
class SweepWorker : public QObject {
    Q_OBJECT
public:
    explicit SweepWorker(QObject* parent = nullptr);
    /// Stops what is running and waits for the engine to end: at first for its step, soon by force.
    ~SweepWorker() override;

    bool isRunning() const { return thread_ != nullptr; }
    /// Whether cancel() was called for the sweep that runs.
    bool isStopping() const { return stop_.stop_requested(); }
    /// Whether it is to end after the point that runs.

    /// Begins; nothing may be running. The stop tokens of `options` are the worker's own.
    /// \param onlyMissing  passes over the points that the file holds already
    void start(SweepPoints points, session::SweepOptions options, bool onlyMissing = false);
    /// Ends the sweep when the point that runs is done.
    void pause();
    /// Asks the sweep to stop after its step; a second time ends the engine at once.
    void cancel();

signals:
    /// The file holds these points of the sweep (SweepPoint::index): they are not run again.
    void passedOver(const std::vector<std::int64_t>& indexes);
    /// What the sweep told since the last time, in order; of samples that come faster than they can be shown
    /// only some.
    void told(const std::vector<tilescope::session::Event>& events);
    /// The sweep is over, everything it had to tell has been told.
    void finished(const tilescope::ui::SweepEnd& end);

private:
    struct Inbox;

    void deliver();
    void end();

    std::shared_ptr<Inbox> inbox_;
    QThread* thread_ = nullptr;
    std::stop_source pause_;
    std::stop_source stop_;
    std::stop_source atOnce_;
};

} // namespace tilescope::ui
