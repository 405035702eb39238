#pragma once

#include "ui/experiment/spec_editor.h"
#include "ui/experiment/sweep_queues.h"

#include <QFrame>

class QAction;
class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class QueueList;

/// The forecast of the spec, the output file, the buttons that run, pause and cancel, and the queued sweeps.
class RunBar : public QFrame {
    Q_OBJECT
public:
    explicit RunBar(SweepQueues& queues, QWidget* parent = nullptr);

    /// Where the next sweep runs, and which one is paused and cancelled. Show the plan again after it.
    /// \param host  empty: this machine
    void setHost(const QString& host);
    QueueList& queueList() { return *list_; }

    /// The checked spec; null while it cannot be run.
    void setPlan(const SpecEditor::Judged* judged, const QString& name);
    /// Proposes an output file for a spec, unless the user has chosen one.
    void suggestOutput(const QString& baseName);
    QString outputPath() const;

signals:
    /// Run or Queue was pressed.
    void wanted(const tilescope::ui::SweepJob& job);

private:
    void chooseOutput();
    void submit();
    void showPlan(const SpecEditor::Judged* judged);
    void update();

    SweepQueues& queues_;
    SweepQueue* queue_; ///< of the place that is shown
    QueueList* list_;
    SweepPoints points_; ///< null: nothing to run
    std::shared_ptr<const SweepPlan> sweep_;
    QString name_;
    bool outputChosen_ = false;

    QLabel* plan_;
    QLabel* forecast_;
    QLabel* warning_;
    QLineEdit* output_;
    QCheckBox* onlyMissing_;
    QAction* run_;
    QAction* enqueue_;
    QPushButton* pause_;
    QPushButton* cancel_;
};

} // namespace tilescope::ui
