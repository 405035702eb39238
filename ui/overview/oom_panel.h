#pragma once

#include "core/query/memory/oom_report.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"
#include "ui/overview/overview_figures.h"

#include <QWidget>

#include <memory>
#include <vector>

class QBoxLayout;
class QPushButton;

namespace tilescope::ui {

class LimitBarPlot;
class Panel;
class SentenceLabel;
class TableView;

/// Why a run was out of memory: what held the memory up to the limit, the failed request, and changes that fit,
/// which can be run. GUI thread; reads the run in a job.
class OomPanel : public QWidget {
    Q_OBJECT
public:
    explicit OomPanel(Workspace& workspace, QWidget* parent = nullptr);

    /// Shows the first of the runs that was out of memory; hides itself if none was.
    /// \return  whether one was
    bool showRuns(const std::vector<SelectedRun>& runs);

signals:
    /// The cards for the run, if it is the only one.
    void figuresReady(const std::vector<KeyFigure>& figures);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeContent();
    void show(const SelectedRun& run, std::shared_ptr<const query::OomReport> report);
    void runVariants(const std::vector<std::int64_t>& rows);
    std::vector<const query::RunSummary*> runsOfChanges(const ExperimentSpec& spec) const;
    std::vector<bool> queuedChanges(const ExperimentSpec& spec) const;
    void showFits();
    void addButtons(const std::vector<const query::RunSummary*>& runs, const std::vector<bool>& queued);
    void openRun(std::size_t suggestion);
    void say(const QString& text);

    Workspace& workspace_;
    JobTracker loading_{this};
    std::shared_ptr<const query::OomReport> report_;
    SelectedRun run_;
    bool isAlone_ = true;         ///< no other run is shown
    bool canRun_ = false;         ///< there are changes that fit, and the run has a spec
    Panel* limitPanel_ = nullptr; ///< and all that follows: nullptr until a run was out of memory
    QBoxLayout* lists_ = nullptr; ///< one below the other on a narrow page
    Panel* holderPanel_ = nullptr;
    Panel* fitPanel_ = nullptr;
    LimitBarPlot* bar_ = nullptr;
    TableView* holders_ = nullptr;
    TableView* fits_ = nullptr;
    SentenceLabel* noHolders_ = nullptr;
    SentenceLabel* noFits_ = nullptr;
    QPushButton* runAll_ = nullptr;
};

} // namespace tilescope::ui
