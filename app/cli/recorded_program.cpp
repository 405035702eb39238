#include "app/cli/recorded_program.h"

#include "core/base/error.h"
#include "core/base/units.h"

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

constexpr std::array kPassedOn{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile std::sig_atomic_t programPid = 0;

/// The terminal sends its signals to the program as well; those of other processes are for this one only.
void passOn(int signal, siginfo_t* info, void* /*context*/)
{
    if (programPid > 0 && info->si_code <= 0)
        kill(programPid, signal);
}

[[noreturn]] void becomeProgram(const std::vector<std::string>& command, int report)
{
    for (const int signal : kPassedOn)
        std::signal(signal, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL); // this program ignores it
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    const int error = errno;
    static_cast<void>(!write(report, &error, sizeof(error)));
    _exit(127);
}

} // namespace

void RecordedProgram::run(const std::function<void(pid_t)>& started)
{
    for (const auto& [name, value] : variables_)
        setenv(name.c_str(), value.c_str(), 1);
    std::array<int, 2> report{};
    if (pipe2(report.data(), O_CLOEXEC) != 0)
        throw Error{.what = std::strerror(errno), .where = command_.front(), .kind = ErrorKind::Failure};
    std::cout.flush();
    struct sigaction action {};
    action.sa_sigaction = &passOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int signal : kPassedOn)
        sigaction(signal, &action, nullptr);
    const pid_t pid = fork();
    if (pid == 0)
        becomeProgram(command_, report[1]);
    close(report[1]);
    if (pid < 0)
        throw Error{.what = std::strerror(errno), .where = command_.front(), .kind = ErrorKind::Failure};
    programPid = pid;
    int error = 0;
    const bool failed = read(report[0], &error, sizeof(error)) == sizeof(error);
    close(report[0]);
    if (started && !failed)
        started(pid);
    while (waitpid(pid, &status_, 0) < 0 && errno == EINTR) {
    }
    programPid = 0;
    if (failed)
        throw Error{.what = "cannot be started: " + std::string(std::strerror(error)),
                    .where = command_.front(),
                    .remedy = "check its name and PATH"};
}

int RecordedProgram::pass() const
{
    if (WIFEXITED(status_))
        return WEXITSTATUS(status_);
    const int signal = WTERMSIG(status_);
    // The program has left its core; this process has none worth keeping.
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return 128 + signal;
}

std::string hostClock()
{
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const std::int64_t steady = nanosecondsOf(TraceClock::now());
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t offset = std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - steady;
    return std::string(host.data()) + ":" + std::to_string(offset);
}

} // namespace tilescope::cli
