#include "app/cli/recorded_program.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/process.h"
#include "core/base/this_host.h"
#include "core/base/units.h"
#include "core/record/command_line.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace tilescope::cli {

namespace {

[[noreturn]] void becomeProgram(const std::vector<std::string>& command, int report)
{
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    const int error = errno;
    static_cast<void>(!write(report, &error, sizeof(error)));
    _exit(127);
}

Error failure(const std::vector<std::string>& command)
{
    const bool isLimited = errno == EAGAIN;
    return {.what = std::strerror(errno),
            .where = record::maskedCommandLine({command.front()}),
            .remedy = isLimited ? "raise the limit of processes (ulimit -u): this program takes one" : "",
            .kind = ErrorKind::Failure};
}

} // namespace

void RecordedProgram::run(const std::function<void(pid_t)>& started)
{
    for (const auto& [name, value] : variables_)
        setenv(name.c_str(), value.c_str(), 1);
    setenv(record::kOptionsVariable, options_.c_str(), 1);
    std::array<int, 2> report{};
    if (pipe2(report.data(), O_CLOEXEC) != 0)
        throw failure(command_);
    const FileDescriptor toRead(report[0]);
    FileDescriptor toWrite(report[1]);
    std::cout.flush();
    forwarder_ = std::make_unique<const SignalForwarder>();
    const pid_t pid = fork();
    if (pid == 0) {
        restoreProcess();
        forwarder_->restoreInChild();
        becomeProgram(command_, toWrite.get());
    }
    if (pid < 0)
        throw failure(command_);
    forwarder_->startedAs(pid);
    toWrite.reset();
    int error = 0;
    const bool failed = read(toRead.get(), &error, sizeof(error)) == sizeof(error);
    if (started && !failed)
        started(pid);
    // Its number stays its own until waitpid(): no signal reaches another process.
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    forwarder_->ended();
    while (waitpid(pid, &status_, 0) < 0 && errno == EINTR) {
    }
    if (failed)
        throw Error{.what = "cannot be started: " + std::string(std::strerror(error)),
                    .where = record::maskedCommandLine({command_.front()}),
                    .remedy = "check its name and PATH"};
}

int RecordedProgram::pass() const
{
    if (WIFEXITED(status_))
        return WEXITSTATUS(status_);
    const int signal = WTERMSIG(status_);
    // The program has already dumped core; disable core dumps for this process.
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    std::signal(signal, SIG_DFL);
    // Whoever waited for other processes may have blocked it.
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, signal);
    sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    std::raise(signal);
    return 128 + signal;
}

std::string hostClock()
{
    const std::int64_t steady = nanosecondsOf(TraceClock::now());
    return hostName() + ":" + std::to_string(unixNs() - steady);
}

} // namespace tilescope::cli
