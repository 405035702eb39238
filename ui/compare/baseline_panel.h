#pragma once

#include "ui/compare/comparison_rows.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/kit/workspace.h"

namespace tilescope::ui {

class TableView;

/// Run A against each of several others. The rest of the page is about one of them, B; another becomes B by a click or
/// by Enter. Hidden for fewer than three runs, and while a time filter limits one of them, since verdicts are of
/// whole steps.
class BaselinePanel : public Panel {
    Q_OBJECT
public:
    explicit BaselinePanel(QWidget* parent = nullptr);

    /// \param runs  A, B and the others
    void showRuns(const std::vector<SelectedRun>& runs);
    /// Whether it is about these runs with the same A, whichever of them is B.
    bool isAbout(const std::vector<SelectedRun>& runs) const;

signals:
    /// That run is to become B.
    void chosen(const RunKey& run);

private:
    void compare();
    void showRows();

    JobTracker loading_{this};
    std::vector<SelectedRun> runs_; // A, then the others by file and number; empty if hidden
    std::vector<RunAgainst> rows_;  // of the others
    RunKey b_;
    TableView* table_;
};

} // namespace tilescope::ui
