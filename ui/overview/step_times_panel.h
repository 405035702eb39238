#pragma once

#include "ui/experiment/sweep_progress.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/kit/workspace.h"

#include <vector>

namespace tilescope::ui {

class ElidedLabel;
class SentenceLabel;
class StepsPlot;

/// The times of a run's steps in their order, the warm-up first; traced steps are left out.
std::vector<SweepProgress::Step> stepTimes(const query::SamplesTable& samples);

/// The step times of runs without a traced step, which have nothing else to show: a plot for each. GUI thread; reads
/// the runs in a job.
class StepTimesPanel : public Panel {
    Q_OBJECT
public:
    explicit StepTimesPanel(QWidget* parent = nullptr);

    /// \param runs     one or two
    /// \param noTrace  why they have no traced step
    void showRuns(const std::vector<SelectedRun>& runs, const QString& noTrace);

private:
    struct Place {
        QWidget* whole;
        ElidedLabel* title;
        StepsPlot* plot;
        SentenceLabel* nothing;
    };

    void show(const std::vector<SelectedRun>& runs,
              const std::vector<std::vector<SweepProgress::Step>>& steps);

    JobTracker loading_{this};
    std::vector<Place> places_;
    SentenceLabel* noTrace_;
};

} // namespace tilescope::ui
