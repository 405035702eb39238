#pragma once

#include "ui/experiment/job_status.h"
#include "ui/experiment/sweep_queues.h"

#include <QWidget>

#include <map>

class QGridLayout;
class QLabel;

namespace tilescope::ui {

/// The queued sweeps, with buttons that reorder and remove them, and, as soon as a host has a sweep, those that run;
/// hidden while there are none.
class QueueList : public QWidget {
    Q_OBJECT
public:
    explicit QueueList(SweepQueues& queues, QWidget* parent = nullptr);

    /// The progress of the sweep that runs in a place.
    void setSummary(const JobSummary& summary);

signals:
    /// The sweep of this place is to be shown.
    void placeWanted(const QString& host);

private:
    void refill();
    int addRunning(QGridLayout& grid, int row, SweepQueue& queue);
    int addWaiting(QGridLayout& grid, int row, SweepQueue& queue, bool namesPlace);

    SweepQueues& queues_;
    QWidget* rows_ = nullptr;
    std::map<QString, JobSummary> summaries_; ///< by place
    std::map<QString, QLabel*> states_;       ///< of the rows that run, by place
};

} // namespace tilescope::ui
