#pragma once

#include "core/hosts/host_list.h"
#include "ui/hosts/host_check.h"

#include <QDialog>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace tilescope::ui {

class ComboBox;
class HostSteps;

/// Adds a host to the user's list or changes one, and examines it step by step. GUI thread.
class HostDialog : public QDialog {
    Q_OBJECT
public:
    /// \param host  is changed; without a name: a new one
    explicit HostDialog(const hosts::Host& host, QWidget* parent = nullptr);
    ~HostDialog() override;

    /// Begins the examination, as the button does.
    void check();
    bool isChecking() const { return checking_->isRunning(); }

signals:
    /// The list of hosts was written.
    void stored(const QString& host);

private:
    QWidget* makeFields();
    QWidget* makeButtons();
    hosts::Host asked() const;
    void follow();
    void store();

    const bool isNew_;
    HostCheck* checking_;
    QLineEdit* name_;
    QLineEdit* address_;
    ComboBox* kind_;
    QPlainTextEdit* setUp_;
    QCheckBox* local_;
    QLabel* sbatchWord_;
    QLineEdit* sbatch_;
    QLabel* tasksWord_;
    QSpinBox* tasks_;
    QLabel* command_;
    HostSteps* steps_;
    QLabel* state_;
    QPushButton* check_;
    QPushButton* store_;
};

} // namespace tilescope::ui
