#include "core/session/supervisor/child_process.h"

#include "core/base/error.h"
#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace tilescope::session {

namespace {

/// Maximum wait for the end of srun; longer than Slurm's usual KillWait.
constexpr std::chrono::seconds kSrunEnd{90};

struct Pipe {
    FileDescriptor read;
    FileDescriptor write;
};

Pipe makePipe()
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw Error{.what = std::string("no pipe could be made (") + std::strerror(errno) + ")",
                    .remedy = "raise the limit of open files (ulimit -n)",
                    .kind = ErrorKind::Environment};
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void dontBlock(const FileDescriptor& end)
{
    fcntl(end.get(), F_SETFL, fcntl(end.get(), F_GETFL) | O_NONBLOCK);
}

} // namespace

std::string ExitStatus::text() const
{
    if (signal == 0)
        return "exit code " + std::to_string(code);
    const char* name = sigabbrev_np(signal);
    const std::string abbreviation = name ? std::string("SIG") + name : "signal " + std::to_string(signal);
    const char* description = sigdescr_np(signal);
    return description ? abbreviation + " (" + description + ")" : abbreviation;
}

ChildProcess::ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment, Kind kind)
    : kind_(kind)
{
    Pipe in = makePipe();
    Pipe out = makePipe();
    Pipe err = makePipe();

    SpawnSettings settings;
    posix_spawn_file_actions_adddup2(&settings.actions, in.read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&settings.actions, out.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&settings.actions, err.write.get(), STDERR_FILENO);

    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = environmentWith(environment);
    const std::filesystem::path found = findProgram(program.string());
    const int failure = found.empty()
                            ? ENOENT
                            : posix_spawn(&pid_, found.c_str(), &settings.actions, &settings.attributes,
                                          pointersTo(words).data(), pointersTo(variables).data());
    if (failure != 0)
        throw Error{.what = std::string("cannot be started (") + std::strerror(failure) + ")",
                    .where = program.string(),
                    .remedy = "install Tilescope's engine beside the program, or name it in TILESCOPE_ENGINE",
                    .kind = ErrorKind::Environment};
    input = std::move(in.write);
    output = std::move(out.read);
    error = std::move(err.read);
    dontBlock(input);
    dontBlock(output);
    dontBlock(error);
}

ChildProcess::~ChildProcess()
{
    if (pid_ < 0 || ended())
        return;
    signal(SIGKILL);
    // Slurm kills a program that does not end by itself within its KillWait.
    if (kind_ == Kind::ThroughSrun) {
        const auto deadline = std::chrono::steady_clock::now() + kSrunEnd;
        while (!ended() && std::chrono::steady_clock::now() < deadline)
            poll(nullptr, 0, 20);
        if (ended())
            return;
        kill(pid_, SIGKILL);
    }
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void ChildProcess::signal(int number)
{
    if (kind_ == Kind::ThroughSrun)
        number = number == SIGTERM ? SIGUSR1 : number == SIGKILL ? SIGTERM : number;
    if (!ended())
        kill(pid_, number);
}

std::optional<ExitStatus> ChildProcess::ended()
{
    int raw = 0;
    if (!status_ && waitpid(pid_, &raw, WNOHANG) == pid_)
        status_ = WIFSIGNALED(raw) ? ExitStatus{.code = 0, .signal = WTERMSIG(raw)}
                                   : ExitStatus{.code = WEXITSTATUS(raw), .signal = 0};
    // srun ends with 128 plus the signal.
    if (kind_ == Kind::ThroughSrun && status_ && status_->code > 128)
        status_ = ExitStatus{.code = 0, .signal = status_->code - 128};
    return status_;
}

} // namespace tilescope::session
