#pragma once

#include <QFrame>

#include <vector>

class QLabel;
class QPushButton;
class QSlider;

namespace tilescope::ui {

class ComboBox;
class TimelinePlayer;

/// The controls of Play below the tools: pause, instant, speed, export and close. Hidden unless something is played.
class PlayBar : public QFrame {
    Q_OBJECT
public:
    explicit PlayBar(TimelinePlayer& player, QWidget* parent = nullptr);

signals:
    void exportWanted();

private:
    void follow();
    void fillSpeeds();
    void scrub(int place);

    TimelinePlayer& player_;
    QPushButton* toggle_;
    QSlider* slider_;
    QLabel* time_;
    ComboBox* speed_;
    std::vector<double> speeds_; ///< of the list
    double length_ = 0;          ///< that the speeds are for
};

} // namespace tilescope::ui
