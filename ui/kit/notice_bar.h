#pragma once

#include <QFrame>

class QLabel;

namespace tilescope::ui {

class SentenceLabel;
class Workspace;

/// A strip above the pages that says which file could not be opened, and why. Hidden when it is dismissed,
/// when the file becomes readable and when it is closed.
class NoticeBar : public QFrame {
    Q_OBJECT
public:
    explicit NoticeBar(Workspace& workspace, QWidget* parent = nullptr);

private:
    void tell(int file);
    void follow();

    Workspace& workspace_;
    QLabel* sign_;
    SentenceLabel* words_;
    int file_ = 0;
};

} // namespace tilescope::ui
