#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/window/record_command.h"
#include "ui/window/terminal_program.h"

#include <QDialog>
#include <QElapsedTimer>
#include <QTimer>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class ComboBox;
class HostBox;
class OutputView;

/// Asks what to record, shows the command line of `tilescope record`, runs it and shows what the program writes. A
/// second window, so that the recording can be seen while it grows; hiding it does not end the program. GUI thread.
class RecordDialog : public QDialog {
    Q_OBJECT
public:
    explicit RecordDialog(QWidget* parent = nullptr);
    ~RecordDialog() override;

    bool isRunning() const { return program_.isRunning(); }
    /// Ends the program as Ctrl+C does; if that was done before, by SIGTERM.
    void end();

signals:
    /// `tilescope record` is writing a recording that can be followed.
    void began(const QString& file);
    /// The program has ended.
    /// \param file  a recording that was never followed; empty: it was, or there is none
    void ended(const QString& file);

private:
    void makeLayout();
    QWidget* makeFields();
    QWidget* makeParts();
    QWidget* makeButtons();
    RecordCommand asked() const;
    void follow();
    void choosePlace(const QString& host);
    void chooseProgram();
    void chooseFolder();
    void start();
    void look();
    void tellTime();
    void pause();
    void finish(const QString& words);

    TerminalProgram program_;
    TerminalProgram control_; ///< tilescope record --stop, --start
    JobTracker looking_{this};
    QTimer timer_;
    QElapsedTimer since_;
    QString file_;         ///< of the running recording
    bool isFound_ = false; ///< began() was emitted
    bool isEnding_ = false;
    bool isPaused_ = false;
    QByteArray said_; ///< by control_

    HostBox* host_;
    QString localFolder_; ///< while a host is chosen
    QLineEdit* command_;
    QLineEdit* folder_;
    QLineEdit* fileField_;
    ComboBox* begin_;
    QLineEdit* beginAt_;
    QLineEdit* seconds_;
    ComboBox* trace_;
    ComboBox* graphs_;
    QCheckBox* modules_;
    QCheckBox* memory_;
    QCheckBox* ops_;
    QCheckBox* stacks_;
    QCheckBox* samples_;
    QCheckBox* inside_;
    QCheckBox* metrics_;
    QCheckBox* calibrates_;
    QCheckBox* yields_;
    QCheckBox* stores_;
    QWidget* form_ = nullptr;
    QLabel* text_;
    QLabel* state_;
    OutputView* output_;
    QPushButton* chooseProgram_ = nullptr;
    QPushButton* chooseFolder_ = nullptr;
    QPushButton* copy_;
    QPushButton* pause_;
    QPushButton* end_;
    QPushButton* record_;
};

} // namespace tilescope::ui
