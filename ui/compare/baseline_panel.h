#pragma once

#include "ui/compare/comparison_rows.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/kit/workspace.h"

namespace tilescope::ui {

class TableView;

/// Compares run A with each of several other runs. The rest of the page shows one of them, B; a click or
/// Enter makes another run B. Hidden for fewer than three runs, and while a time filter limits a run, because
/// verdicts are about whole steps.
class BaselinePanel : public Panel {
    Q_OBJECT
public:
    explicit BaselinePanel(QWidget* parent = nullptr);

    /// \param runs  A, B, then the other runs
    void showRuns(const std::vector<SelectedRun>& runs);
    /// Whether the panel shows these runs with the same A; any of the others may be B.
    bool isAbout(const std::vector<SelectedRun>& runs) const;

signals:
    /// Emitted when the user selects another run as B.
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
