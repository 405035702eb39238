#pragma once

#include "ui/jobs/job_tracker.h"

#include <QDialog>
#include <QProcess>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class ComboBox;

/// Asks for title, author and folder, and lets `tilescope report` write the report on the studies of a recording.
/// Shows its command line. GUI thread; the studies are read in a job. Closing the dialog ends the program, which
/// leaves the folder as it was.
class ReportDialog : public QDialog {
    Q_OBJECT
public:
    explicit ReportDialog(QString recording, QWidget* parent = nullptr);
    ~ReportDialog() override;

    /// The command for a shell.
    QString command() const;

signals:
    /// The report is written, or could not be.
    void ended(bool written);

private:
    void readStudies();
    void makeLayout();
    void follow();
    void chooseFolder();
    void write();
    void finish(int exitCode, QProcess::ExitStatus status);
    QStringList arguments() const;

    const QString recording_;
    JobTracker reading_{this};
    QProcess program_;
    QLineEdit* title_;
    QLineEdit* author_;
    ComboBox* study_;
    QLineEdit* folder_;
    QCheckBox* anonymous_;
    QLabel* command_;
    QLabel* state_;
    QPushButton* write_;
    QPushButton* show_;
};

} // namespace tilescope::ui
