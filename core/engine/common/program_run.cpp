#include "core/engine/common/program_run.h"

#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"

#include <c10/util/StringUtil.h>

#include <fcntl.h>
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
void redirect(SpawnSettings& settings, const std::filesystem::path& output)
{
    constexpr mode_t kPrivate = 0600;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, kPrivate);
    posix_spawn_file_actions_adddup2(&settings.actions, STDOUT_FILENO, STDERR_FILENO);
}

/// A process group of its own, so that its children end with it, and signals as at the start of a program.
void separate(SpawnSettings& settings)
{
    posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&settings.attributes, 0);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGXFSZ})
        sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&settings.attributes, &usual);
}

/// \return  the wait status
int statusOf(pid_t child, const std::stop_token& stop)
{
    {
        // Until the child is reaped, no other process can get its number, so the signal reaches the right
        // group.
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
    SpawnSettings settings;
    redirect(settings, output);
    separate(settings);
    pid_t child = -1;
    const std::filesystem::path program = findProgram(arguments.front());
    const int problem = program.empty()
                            ? ENOENT
                            : posix_spawn(&child, program.c_str(), &settings.actions, &settings.attributes,
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
