#pragma once

#include "ui/jobs/spec_check.h"
#include "ui/jobs/sweep_worker.h"
#include "ui/models/sweep_progress.h"
#include "ui/pages/page.h"

#include <QElapsedTimer>
#include <QTimer>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace tilescope::ui {

class MenuButton;
class Panel;
class TableView;

/// Where experiments are written and run: a spec with what is wrong with it, the points it stands for, and
/// the sweep that runs them. Finished points appear in the run list at once.
class ExperimentPage : public Page {
    Q_OBJECT
public:
    explicit ExperimentPage(Workspace& workspace, QWidget* parent = nullptr);
    ~ExperimentPage() override;

    /// Puts a spec file into the editor; what keeps it from being read is said on the page.
    void openSpec(const QString& path);
    bool isRunning() const { return worker_->isRunning(); }
    /// Asks the sweep to stop after its step; a second time ends it at once.
    void cancel();

signals:
    /// The sweep is over, however it ended.
    void ended();

protected:
    void showRuns(const std::vector<SelectedRun>&) override {} // it shows none

private:
    struct Checked {
        SpecVerdict verdict;
        SweepProgress plan;
    };

    QWidget* makeTools();
    QWidget* makeSpecPanel();
    QWidget* makeRunPanel();
    void fillExamples();
    void dress();
    void chooseSpec();
    void chooseOutput();
    void saveSpec();
    void copyBatchLine();
    QString batchLine() const;
    void check();
    void judged(Checked checked);
    void say(const QString& sentence, const char* kind);
    void markLine(int line);
    void run();
    void take(const std::vector<session::Event>& events);
    void sweepEnded(const QString& words, const char* kind);
    void paintProgress();
    void updateButtons();
    QString outputPath() const;

    SweepWorker* worker_;
    JobTracker checks_;
    QTimer checkSoon_, paintSoon_, readSoon_;
    QElapsedTimer sinceStart_;
    Checked checked_;
    bool current_ = false; ///< checked_ is about the text as it stands
    bool outputChosen_ = false;
    SweepProgress progress_; ///< of the sweep that runs or ran last
    QString recording_;      ///< the file it goes into
    QString specPath_;

    Panel* specPanel_ = nullptr;
    Panel* runPanel_ = nullptr;
    MenuButton* examples_ = nullptr;
    QLineEdit* output_ = nullptr;
    QPushButton* run_ = nullptr;
    QPushButton* cancel_ = nullptr;
    QPlainTextEdit* editor_ = nullptr;
    QLabel* verdict_ = nullptr;
    QLabel* status_ = nullptr;
    QProgressBar* bar_ = nullptr;
    TableView* table_ = nullptr;
    QPlainTextEdit* log_ = nullptr;
};

} // namespace tilescope::ui
