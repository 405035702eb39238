#pragma once

#include "core/report/document.h"
#include "ui/charts/chart_recipe.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/kit/workspace.h"

#include <memory>
#include <string>
#include <vector>

class QLabel;
class QPushButton;

namespace tilescope::ui {

class ChartPlot;
class FigureView;
class SegmentedControl;
class TableView;

/// The studies of a file: the question, state and first finding of each; of the selected one the figures and all
/// findings, as in the report. Shown for a file with several studies, or with one that has several runs; follows
/// the file while it is written. GUI thread; reads the file in a job.
class StudyPanel : public Panel {
    Q_OBJECT
public:
    explicit StudyPanel(Workspace& workspace, QWidget* parent = nullptr);
    ~StudyPanel() override;

    /// Shows the studies of the file of the first run.
    void showRuns(const std::vector<SelectedRun>& runs);

private:
    void makeContent();
    void show(std::shared_ptr<const report::Document> document);
    void fitList();
    void addSketches();
    bool hasSketchOfEach() const;
    void showStudy();
    void showFigure();
    void select(const std::vector<std::string>& uids, const QString& page);
    void selectRuns();
    void showTimeline();
    const report::Section* study() const;

    Workspace& workspace_;
    JobTracker loading_{this};
    int file_ = 0;
    std::shared_ptr<const query::FileSnapshot> snapshot_;
    std::shared_ptr<const report::Document> document_;
    TableView* studies_ = nullptr; ///< and all that follows: nullptr until there is a study to show
    QLabel* asks_ = nullptr;
    QLabel* findings_ = nullptr;
    SegmentedControl* figures_ = nullptr; ///< remade for each study
    QWidget* figureArea_ = nullptr;
    Chart chart_;
    std::unique_ptr<ChartPlot> plot_;
    FigureView* figure_ = nullptr;
    QPushButton* select_ = nullptr;
    QPushButton* charts_ = nullptr;
    QPushButton* timeline_ = nullptr;
};

} // namespace tilescope::ui
