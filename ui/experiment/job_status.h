#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace tilescope::ui {

/// How the sweep that runs stands, for the whole window.
struct JobSummary {
    bool shown = false;  ///< something runs or is held
    bool moving = false; ///< it runs, and is not being stopped
    QString words;       ///< running 48/120
    double fraction = 0;
    QString left; ///< ETA 1m38s
    bool canCancel = false;
    QString cancelWord;
};

/// The sweep in the status bar: a sign, how far it is, how long it takes yet, and cancel. Hidden while
/// nothing runs. A click on the words leads to the experiment page.
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
};

} // namespace tilescope::ui
