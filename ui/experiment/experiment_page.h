#pragma once

#include "ui/experiment/job_status.h"
#include "ui/experiment/sweep_queues.h"
#include "ui/kit/page.h"

#include <QPointer>

#include <map>
#include <string>
#include <vector>

class QMenu;
class QScrollArea;
class QSplitter;
class QStackedWidget;

namespace tilescope::ui {

class Forecaster;
class HostBox;
class HostsDialog;
class MenuButton;
class RunBar;
class RunView;
class SpecEditor;

/// The page that edits and runs experiments: a spec as form and text, its points and forecast, and the
/// running and queued sweeps with their progress. Finished points appear in the run list at once.
///
/// Its widgets are made when it is first shown or given a spec, so that a window starts without them.
class ExperimentPage : public Page {
    Q_OBJECT
public:
    explicit ExperimentPage(Workspace& workspace, QWidget* parent = nullptr);
    ~ExperimentPage() override;

    /// Loads a spec file into the editor; the page shows why a file cannot be read.
    void openSpec(const QString& path);
    /// The source of forecasts. Until it is set, the page shows none.
    void setForecaster(std::shared_ptr<const Forecaster> forecaster);
    /// The queue of this machine.
    SweepQueue& queue() { return *queue_; }
    SweepQueues& queues() { return *queues_; }
    /// Whether a sweep runs on this machine.
    bool isRunning() const { return queue_->isRunning(); }
    /// Shows the sweeps of a place and runs the next ones there.
    /// \param host  empty: this machine
    void setHost(const QString& host);
    /// Shows the dialog with the user's hosts.
    HostsDialog& showHosts();
    /// Follows sweeps on hosts that earlier windows started.
    void takeUpStarted();
    QString command() const override;
    /// Stops the running sweep of this machine after its step (a second call: at once) and clears its queue.
    void stopAll();
    /// Writes a job script that runs the spec as that many Slurm tasks.
    /// \return  false if it failed; the page shows the reason
    bool writeSlurmScript(const QString& path, int tasks);

signals:
    /// Nothing runs any more: the sweep has ended or is paused.
    void ended();
    void summarized(const tilescope::ui::JobSummary& summary);
    /// A sweep has recorded runs into this file.
    void recorded(const QString& file);

protected:
    void showRuns(const std::vector<SelectedRun>&) override {} // it shows none
    void showEvent(QShowEvent* event) override;

private:
    void prepare();
    void build();
    void makeEditor();
    void makeRuns();
    void assemble();
    void addView(SweepQueue& queue);
    void showPlace(const QString& host);
    QString stateOf(const QString& host) const;
    QWidget* makeTools();
    void fillStudies();
    void fillParts(QMenu& menu, const std::string& study);
    void fillPresets();
    void usePreset(const QString& size);
    void queueRuns(const WantedRuns& wanted);
    void chooseSpec();
    void saveSpec();
    bool isSaved() const;
    void copyBatchLine();
    void saveSlurmScript();
    void checked();
    void showRunOf(const QString& file, std::int64_t run, const QString& specHash, bool opens);
    QString savePath() const;
    void makeRoom();
    void restoreDraft();
    void keepDraft() const;

    SweepQueues* queues_;
    SweepQueue* queue_; ///< of this machine
    std::shared_ptr<const Forecaster> forecaster_;
    QString specPath_;
    MenuButton* studies_ = nullptr;
    MenuButton* presets_ = nullptr;
    std::vector<QPointer<QWidget>> unpolished_; ///< between assemble() and build()
    bool isPreparing_ = false;
    bool isAssembled_ = false;
    QWidget* content_ = nullptr; ///< nullptr until makeEditor(), hidden until build()
    SpecEditor* editor_ = nullptr;
    RunBar* bar_ = nullptr;
    HostBox* host_ = nullptr;
    QStackedWidget* views_ = nullptr;
    RunView* view_ = nullptr; ///< of the place that is shown
    std::map<QString, RunView*> viewOf_;
    std::map<QString, JobSummary> summaries_; ///< by place
    QScrollArea* scroll_ = nullptr;
    QSplitter* splitter_ = nullptr;
    bool arranged_ = false; ///< by hand, now or before
};

} // namespace tilescope::ui
