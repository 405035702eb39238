#include "core/engine/common/program_run.h"

#include "core/base/spawn_words.h"

#include <c10/util/StringUtil.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace tilescope::engine {
namespace {

constexpr int kSignalled = 128;

/// Standard input is empty, and standard output and error go to the file.
class Descriptors {
public:
    explicit Descriptors(const std::filesystem::path& output)
    {
        constexpr mode_t kPrivate = 0600;
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, kPrivate);
        posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    }
    ~Descriptors() { posix_spawn_file_actions_destroy(&actions_); }
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;

    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

/// A process group of its own, so that its children end with it, and signals as at the start of a program.
class Attributes {
public:
    Attributes()
    {
        posix_spawnattr_init(&attributes_);
        posix_spawnattr_setflags(&attributes_,
                                 POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes_, &none);
        sigset_t usual;
        sigemptyset(&usual);
        for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGXFSZ})
            sigaddset(&usual, signal);
        posix_spawnattr_setsigdefault(&attributes_, &usual);
    }
    ~Attributes() { posix_spawnattr_destroy(&attributes_); }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

    const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

/// \return  the wait status
int statusOf(pid_t child, const std::stop_token& stop)
{
    {
        // Until it is reaped, its number belongs to no other process.
        const std::stop_callback end(stop, [child] { kill(-child, SIGKILL); });
        siginfo_t ended{};
        while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

std::string lastLineOf(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    std::string last;
    for (std::string line; std::getline(stream, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos)
            last = line;
    return last;
}

} // namespace

std::optional<ProgramEnd> runProgram(const std::vector<std::string>& command,
                                     const std::map<std::string, std::string>& environment,
                                     const std::filesystem::path& output, const std::stop_token& stop)
{
    std::vector<std::string> arguments = command;
    std::vector<std::string> variables = environmentWith(environment);
    const Descriptors descriptors(output);
    const Attributes attributes;
    pid_t child = -1;
    const int problem = posix_spawnp(&child, arguments.front().c_str(), descriptors.get(), attributes.get(),
                                     pointersTo(arguments).data(), pointersTo(variables).data());
    if (problem != 0)
        return ProgramEnd{
            .code = kNotStarted,
            .lastLine = c10::str(arguments.front(), " cannot be started (", std::strerror(problem), ")")};
    const int status = statusOf(child, stop);
    if (stop.stop_requested())
        return {};
    return ProgramEnd{.code = WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status),
                      .lastLine = lastLineOf(output)};
}

} // namespace tilescope::engine
