#pragma once

#include <QTimer>
#include <QWidget>

class QLabel;
class QPushButton;

namespace tilescope::ui {

/// Says in the status bar how much pages have read while one of them reads for more than half a second, and stops them.
class ReadingStatus : public QWidget {
    Q_OBJECT

public:
    explicit ReadingStatus(QWidget* parent = nullptr);

private:
    void look();

    QLabel* words_;
    QPushButton* stop_;
    QTimer timer_; ///< runs while there are jobs
};

} // namespace tilescope::ui
