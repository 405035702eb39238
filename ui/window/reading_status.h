#pragma once

#include <QTimer>
#include <QWidget>

#include <chrono>

class QLabel;
class QPushButton;

namespace tilescope::ui {

/// Says in the status bar how much pages have read while one of them reads for longer than kSilence, and stops them.
class ReadingStatus : public QWidget {
    Q_OBJECT

public:
    static constexpr std::chrono::milliseconds kSilence{500};
    static constexpr std::chrono::milliseconds kBetweenLooks{250};

    explicit ReadingStatus(QWidget* parent = nullptr);

private:
    void look();

    QLabel* words_;
    QPushButton* stop_;
    QTimer timer_; ///< runs while there are jobs
};

} // namespace tilescope::ui
