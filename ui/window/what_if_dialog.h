#pragma once

#include "core/query/path/what_if_table.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"

#include <QDialog>
#include <QTimer>

#include <memory>

class QCheckBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;

namespace tilescope::ui {

class ComboBox;
class SentenceLabel;
class TableView;

/// Predicts the step of a run if some kind of work took another time: the table of `show what-if`, whose command line it
/// shows. GUI thread; the steps are simulated in a job.
class WhatIfDialog : public QDialog {
    Q_OBJECT
public:
    explicit WhatIfDialog(SelectedRun run, QWidget* parent = nullptr);

    /// The command for a shell; empty while nothing is changed.
    QString command() const;

signals:
    /// A prediction is shown, or the reason why there is none.
    void predicted();

private:
    void readWork();
    query::WhatIfQuery asked() const;
    void follow();
    void predict();
    void showPrediction(const std::shared_ptr<const query::WhatIfTable>& table);

    SelectedRun run_;
    JobTracker reading_{this};
    JobTracker predicting_{this};
    QTimer soon_;
    ComboBox* work_;
    QDoubleSpinBox* factor_;
    QCheckBox* removes_;
    QCheckBox* launches_;
    QCheckBox* communication_;
    SentenceLabel* answer_;
    TableView* table_;
    SentenceLabel* notes_;
    QLabel* command_;
    QPushButton* copy_;
};

} // namespace tilescope::ui
