#pragma once

#include "ui/experiment/sweep_queue.h"

#include <QWidget>

class QGridLayout;
class QLabel;

namespace tilescope::ui {

/// The queued sweeps, with buttons that reorder and remove them; hidden while there are none.
class QueueList : public QWidget {
    Q_OBJECT
public:
    explicit QueueList(SweepQueue& queue, QWidget* parent = nullptr);

private:
    void refill();

    SweepQueue& queue_;
    QWidget* rows_ = nullptr;
};

} // namespace tilescope::ui
