#pragma once

#include "core/hosts/host_list.h"
#include "core/machine/machine.h"
#include "ui/jobs/job_tracker.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <stop_token>

namespace tilescope::ui {

/// Examines a host in the background, step by step. Destruction and a new start end a running examination. GUI thread.
class HostCheck : public QObject {
    Q_OBJECT
public:
    explicit HostCheck(QObject* parent = nullptr);
    ~HostCheck() override;

    void start(const hosts::Host& host);
    void stop();
    bool isRunning() const { return steps_ != nullptr; }

signals:
    void stepped(const tilescope::machine::Finding& finding);
    /// \param failure  why it could not be carried out; empty: every step was reported
    void ended(const QString& failure);

private:
    struct Steps;

    void deliver();
    void end(const QString& failure);

    JobTracker checking_{this};
    QTimer timer_;
    std::shared_ptr<Steps> steps_; ///< of the running examination
    std::stop_source stop_;
};

} // namespace tilescope::ui
