#pragma once

#include <QFrame>

namespace tilescope::ui {

class SentenceLabel;
class Workspace;

/// The line above the pages that says to which time span of the selected runs they are limited, with a button that
/// removes the limit. Hidden without one. GUI thread.
class TimeFilterBar : public QFrame {
    Q_OBJECT
public:
    explicit TimeFilterBar(Workspace& workspace, QWidget* parent = nullptr);

private:
    void follow();

    Workspace& workspace_;
    SentenceLabel* words_;
};

} // namespace tilescope::ui
