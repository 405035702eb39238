#pragma once

#include "ui/experiment/spec_editor.h"
#include "ui/experiment/sweep_queue.h"

#include <QFrame>

class QAction;
class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

/// What would be run, where it would be recorded, and the buttons that begin, pause and end it; below them
/// the sweeps that wait.
class RunBar : public QFrame {
    Q_OBJECT
public:
    explicit RunBar(SweepQueue& queue, QWidget* parent = nullptr);

    /// The spec as it stands, ready to be run; null: it is not.
    void setPlan(const SpecEditor::Judged* judged, const QString& name);
    /// Names the file to record into after a spec, unless somebody has named one.
    void suggestOutput(const QString& baseName);
    QString outputPath() const;

signals:
    /// Run and Queue were pressed on a sweep that can be run.
    void wanted(const tilescope::ui::SweepJob& job);

private:
    void chooseOutput();
    void submit();
    void showPlan(const SpecEditor::Judged* judged);
    void update();

    SweepQueue& queue_;
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
