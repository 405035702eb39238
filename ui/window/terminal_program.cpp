#include "ui/window/terminal_program.h"

#include <QSocketNotifier>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tilescope::ui {

namespace {

constexpr unsigned short kTerminalRows = 40;
constexpr unsigned short kTerminalColumns = 120;
constexpr char kInterrupt = '\x03';

} // namespace

TerminalProgram::TerminalProgram(QObject* parent) : QObject(parent)
{
    process_.setProcessChannelMode(QProcess::ForwardedChannels); // no pipes: it has a terminal
    process_.setInputChannelMode(QProcess::ForwardedInputChannel);
    connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        finish(status == QProcess::CrashExit ? tr("ended by a signal")
               : code == 0                   ? QString()
                                             : tr("ended with exit code %1").arg(code));
    });
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            finish(tr("not started: %1").arg(process_.errorString()));
    });
}

TerminalProgram::~TerminalProgram()
{
    process_.disconnect(this);
    hangUp();
}

void TerminalProgram::start(const QString& program, const QStringList& arguments, const QString& folder)
{
    hangUp();
    std::array<char, 128> name{};
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    readable_ = terminal_ < 0 ? nullptr : new QSocketNotifier(terminal_, QSocketNotifier::Read, this);
    if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0 ||
        ptsname_r(terminal_, name.data(), name.size()) != 0)
        return finish(tr("not started: no terminal (%1)").arg(QString::fromLocal8Bit(std::strerror(errno))));
    const winsize size{kTerminalRows, kTerminalColumns, 0, 0};
    ioctl(terminal_, TIOCSWINSZ, &size);
    connect(readable_, &QSocketNotifier::activated, this, [this] { read(); });
    // Runs in the child, between fork and exec.
    process_.setChildProcessModifier([name] {
        setsid();
        const int end = open(name.data(), O_RDWR);
        if (end < 0)
            _exit(127);
        ioctl(end, TIOCSCTTY, 0);
        // As in any terminal: whoever started the window may ignore Ctrl+C, as shells do for programs in the background.
        for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU})
            std::signal(signal, SIG_DFL);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(end, stream);
        if (end > STDERR_FILENO)
            close(end);
    });
    process_.setWorkingDirectory(folder);
    process_.start(program, arguments);
}

// Returns whether more may be available immediately.
bool TerminalProgram::read()
{
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(terminal_, buffer.data(), buffer.size());
    if (count > 0) {
        emit wrote(QByteArray(buffer.data(), qsizetype(count)));
        return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR))
        readable_->setEnabled(false); // nobody has the other end any more
    return false;
}

void TerminalProgram::interrupt()
{
    if (isRunning() && write(terminal_, &kInterrupt, 1) != 1)
        terminate();
}

void TerminalProgram::terminate()
{
    process_.terminate();
}

void TerminalProgram::hangUp()
{
    delete readable_;
    readable_ = nullptr;
    if (terminal_ >= 0)
        close(terminal_);
    terminal_ = -1;
}

void TerminalProgram::finish(const QString& words)
{
    while (terminal_ >= 0 && read()) {
    }
    hangUp();
    emit ended(words);
}

} // namespace tilescope::ui
