#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"
#include "ui/window/terminal_program.h"

#include <QDialog>

#include <functional>
#include <vector>

class QCheckBox;
class QFormLayout;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class ComboBox;
class OutputView;

/// The commands that the window runs with the command line's program.
enum class Command { Export, Share, Merge, Verify, Compact, Replay, Compile };

/// Asks what a command needs, shows its command line, runs it and shows what it prints. A recording that it wrote is
/// opened. Closing the dialog hangs the program up. GUI thread.
class CommandDialog : public QDialog {
    Q_OBJECT
public:
    /// \param runs   the selected ones; their first file is what the command is about
    /// \param files  the open recordings
    CommandDialog(Command command, std::vector<SelectedRun> runs, QStringList files,
                  QWidget* parent = nullptr);

    /// The words after `tilescope`; empty while something is missing.
    QStringList arguments() const;
    /// The command for a shell.
    QString command() const;

signals:
    /// \param failed  how it ended, if not with exit code 0
    void ended(const QString& failed);
    /// A recording was written.
    void recordingWritten(const QString& file);
    /// An open recording was replaced by one with the same runs.
    void recordingReplaced(const QString& file);

private:
    void makeFields(QFormLayout& form);
    void addOutput(QFormLayout& form, const QString& suffix);
    void addInput(QFormLayout& form);
    void readOps();
    void follow();
    void followFormat();
    void run();
    void finish(const QString& failed);
    QString fileOfRun() const;
    QString missing() const;

    const Command kind_;
    const std::vector<SelectedRun> runs_;
    const QStringList files_;
    JobTracker reading_{this};
    TerminalProgram program_;
    ComboBox* choice_ = nullptr;      ///< the format, the op, the device
    ComboBox* device_ = nullptr;      ///< of a replay
    QLineEdit* input_ = nullptr;      ///< a spec
    QLineEdit* outputFile_ = nullptr; ///< null: the command writes none
    QCheckBox* identity_ = nullptr;
    QLabel* text_;
    QLabel* state_;
    OutputView* output_;
    QPushButton* run_;
    QPushButton* folder_;
};

} // namespace tilescope::ui
