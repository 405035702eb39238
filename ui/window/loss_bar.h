#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kit/message_strip.h"

class QPushButton;

namespace tilescope::ui {

class Workspace;

/// The line above the pages that says what the selected runs lack, so that no figure of an incomplete recording is
/// read as one of the whole program. Hidden if nothing was lost, and on pages that show no runs. GUI thread.
class LossBar : public MessageStrip {
    Q_OBJECT
public:
    explicit LossBar(Workspace& workspace, QWidget* parent = nullptr);

    /// Call when another page is shown.
    void setPage(const QString& name);

private:
    void read();
    void follow();

    Workspace& workspace_;
    QString page_;
    QString sentence_; ///< empty: nothing was lost
    QPushButton* list_;
    JobTracker reading_{this};
};

} // namespace tilescope::ui
