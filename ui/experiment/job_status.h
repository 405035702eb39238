#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace tilescope::ui {

/// Progress of the running sweep, for the whole window.
struct JobSummary {
    QString host = {};   ///< where it runs; empty: here
    bool shown = false;  ///< a sweep runs or is paused
    bool moving = false; ///< it runs and is not being stopped
    bool isLost = false; ///< the host is out of reach
    QString words;       ///< running 48/120
    double fraction = 0;
    QString left; ///< ETA 1m38s
    bool canCancel = false;
    QString cancelWord;
};

/// The sweep of a place in the status bar: an icon, progress, remaining time and a cancel button. Hidden while nothing
/// runs there. A click on the words leads to the experiment page.
class JobStatus : public QWidget {
    Q_OBJECT
public:
    explicit JobStatus(QWidget* parent = nullptr);
    void show(const JobSummary& summary);

signals:
    void cancelled();
    void opened();

private:
    void dress();

    QPushButton* words_;
    QProgressBar* bar_;
    QLabel* left_;
    QPushButton* cancel_;
    bool moving_ = false;
    bool isLost_ = false;
};

} // namespace tilescope::ui
