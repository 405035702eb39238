#pragma once

#include "core/session/supervisor.h"

#include <QObject>
#include <QString>

#include <memory>
#include <stop_token>
#include <vector>

class QThread;

namespace tilescope::ui {

/// Runs one sweep at a time in engine processes, from a thread of its own. Its signals come in the thread
/// that it lives in (the GUI's), never while a call to it is under way; no call blocks but the destructor.
class SweepWorker : public QObject {
    Q_OBJECT
public:
    using Points = std::shared_ptr<const std::vector<session::SweepPoint>>;

    explicit SweepWorker(QObject* parent = nullptr);
    /// Stops what is running and waits for the engine to end: at first for its step, soon by force.
    ~SweepWorker() override;

    bool isRunning() const { return thread_ != nullptr; }
    /// Whether cancel() was called for the sweep that runs.
    bool isStopping() const { return stop_.stop_requested(); }

    /// Begins; nothing may be running. The stop tokens of `options` are the worker's own.
    void start(Points points, session::SweepOptions options);
    /// Asks the sweep to stop after its step; a second time ends the engine at once.
    void cancel();

signals:
    /// What the sweep told since the last time, in order; of the samples in a row only the last.
    void told(const std::vector<tilescope::session::Event>& events);
    /// The sweep is over, everything it had to tell has been told.
    void finished(bool cancelled);
    /// The sweep could not begin or go on; the sentence says why. Comes in place of finished().
    void failed(const QString& sentence);

private:
    struct Inbox;

    void deliver();
    void end();

    std::shared_ptr<Inbox> inbox_;
    QThread* thread_ = nullptr;
    std::stop_source stop_;
    std::stop_source atOnce_;
};

} // namespace tilescope::ui
