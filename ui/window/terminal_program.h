#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>

class QSocketNotifier;

namespace tilescope::ui {

/// A program with a terminal of its own: it writes as it does in one, and is interrupted as by Ctrl+C there. Its
/// destructor hangs the terminal up, which ends programs in it. GUI thread.
class TerminalProgram : public QObject {
    Q_OBJECT
public:
    explicit TerminalProgram(QObject* parent = nullptr);
    ~TerminalProgram() override;

    void start(const QString& program, const QStringList& arguments, const QString& folder);
    bool isRunning() const { return process_.state() != QProcess::NotRunning; }
    qint64 pid() const { return process_.processId(); }
    /// Ctrl+C in its terminal.
    void interrupt();
    /// SIGTERM to the program, for one that ignores Ctrl+C.
    void terminate();

signals:
    void wrote(const QByteArray& output);
    /// Emitted when the program has ended and all its output was passed on.
    /// \param words  how: `ended with exit code 1`; empty: with exit code 0
    void ended(const QString& words);

private:
    bool read();
    void hangUp();
    void finish(const QString& words);

    QProcess process_;
    QSocketNotifier* readable_ = nullptr;
    int terminal_ = -1; ///< our end
};

} // namespace tilescope::ui
