#pragma once

#include "ui/kit/message_strip.h"

namespace tilescope::ui {

class Workspace;

/// A strip above the pages that says which file could not be opened, and why. Hidden when it is dismissed,
/// when the file becomes readable and when it is closed.
class NoticeBar : public MessageStrip {
    Q_OBJECT
public:
    explicit NoticeBar(Workspace& workspace, QWidget* parent = nullptr);

private:
    void showFailure(int file);
    void follow();

    Workspace& workspace_;
    int file_ = 0;
};

} // namespace tilescope::ui
