#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"

#include <QObject>

#include <vector>

namespace tilescope::ui {

class TimelineView;

/// Reads why the traced steps of neighbouring runs on the timeline differ, for the bands between them. GUI thread;
/// the files are read in the background.
class DifferenceCauses : public QObject {
    Q_OBJECT
public:
    explicit DifferenceCauses(TimelineView& view, QObject* parent = nullptr);

    /// \param runs  one per section of the view, in its order
    void setRuns(const std::vector<SelectedRun>& runs);

private:
    TimelineView& view_;
    JobTracker reading_{this};
};

} // namespace tilescope::ui
