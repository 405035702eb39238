#pragma once

#include "ui/experiment/sweep_queue.h"

#include <QWidget>

class QGridLayout;
class QLabel;

namespace tilescope::ui {

/// The sweeps that wait, in order, with buttons to change that and to take them out; hidden while none waits.
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
