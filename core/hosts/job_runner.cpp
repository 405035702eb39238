// The process between a job and the clients that come and go: it starts the work and notes how it ended.

#include "core/base/environment_variable.h"
#include "core/base/file_descriptor.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"
#include "core/hosts/job_folder.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/server.h"
#include "core/hosts/slurm.h"
#include "core/hosts/slurm_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// The command line of a job's work.
std::vector<std::string> wordsOf(const Json& job, const JobFolder& folder)
{
    std::vector<std::string> words{executablePath().string()};
    const std::string kind = textIn(job, "kind");
    if (kind == "sweep")
        words.insert(words.end(), {"serve", "--sweep", folder.path().string()});
    if (kind == "record")
        words.insert(words.end(), {"record", "--output=" + folder.file(kResultFile).string()});
    for (const Json& word : job.at("arguments"))
        words.push_back(word.get<std::string>());
    return words;
}

/// Where a program's output goes.
struct Outputs {
    fs::path out;
    fs::path err;
};

/// Starts a program as the leader of a group of its own.
/// \return  0 or the reason in errno's values
int start(std::vector<std::string> words, const Outputs& outputs, const Json& job, pid_t& pid)
{
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    constexpr int kToFile = O_WRONLY | O_CREAT | O_APPEND;
    posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, outputs.out.c_str(), kToFile, 0600);
    posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, outputs.err.c_str(), kToFile, 0600);
    const std::string cwd = textIn(job, "cwd");
    if (!cwd.empty())
        posix_spawn_file_actions_addchdir_np(&settings.actions, cwd.c_str());
    sigset_t asUsual;
    sigemptyset(&asUsual);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
        sigaddset(&asUsual, signal);
    posix_spawnattr_setsigdefault(&settings.attributes, &asUsual);
    // A request to pause that arrives before a sweep knows the signal waits for it.
    sigset_t blocked;
    sigemptyset(&blocked);
    if (textIn(job, "kind") == "sweep")
        sigaddset(&blocked, SIGUSR1);
    posix_spawnattr_setsigmask(&settings.attributes, &blocked);
    posix_spawnattr_setpgroup(&settings.attributes, 0);
    posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const fs::path program = findProgram(words.front());
    if (program.empty())
        return ENOENT;
    std::vector<std::string> variables = environmentWith({});
    return posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                       pointersTo(words).data(), pointersTo(variables).data());
}

Json startFailure(int reason)
{
    return {{"code", 3},
            {"signal", 0},
            {"failure", std::string("the work did not start (") + std::strerror(reason) + ")"}};
}

Json endOf(pid_t pid)
{
    int raw = 0;
    while (waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
    }
    return {{"code", WIFEXITED(raw) ? WEXITSTATUS(raw) : 0},
            {"signal", WIFSIGNALED(raw) ? WTERMSIG(raw) : 0}};
}

/// The server waits for this line; from here on the work is on its own.
void sayStarted()
{
    [[maybe_unused]] const ssize_t told = write(STDOUT_FILENO, "started\n", 8);
    const FileDescriptor nowhere{open("/dev/null", O_RDWR | O_CLOEXEC)};
    dup2(nowhere.get(), STDOUT_FILENO);
}

Json runHere(const JobFolder& folder, const Json& job)
{
    pid_t pid = -1;
    if (const int reason = start(wordsOf(job, folder), {folder.file("out"), folder.file("err")}, job, pid);
        reason != 0)
        return startFailure(reason);
    folder.write("pid", std::to_string(pid));
    sayStarted();
    return endOf(pid);
}

} // namespace

int runJob(const fs::path& path)
{
    const JobFolder folder(path);
    const FileDescriptor lock{open(folder.file("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    // Who asks whether it runs holds the lock for a moment.
    constexpr int kAttempts = 50;
    constexpr int kPauseMs = 10;
    for (int attempt = 0; flock(lock.get(), LOCK_EX | LOCK_NB) != 0; poll(nullptr, 0, kPauseMs))
        if (++attempt == kAttempts)
            return 1; // another runner has it
    if (folder.group() || folder.status())
        return 1;
    const Json job = Json::parse(textOfFile(folder.file(kJobFile)));
    if (!folder.isForSlurm()) {
        folder.write("status", runHere(folder, job).dump());
        return 0;
    }
    sayStarted();
    const auto submit = [&](const std::vector<std::string>& words) {
        constexpr int kNotFound = 127;
        pid_t pid = -1;
        const int reason = start(words, {folder.file(kSlurmFile), folder.file("err")}, job, pid);
        return reason == 0 ? int(numberIn(endOf(pid), "code")) : kNotFound;
    };
    folder.write("status", runInSlurm(folder, job, submit).dump());
    return 0;
}

// Slurm ends a task by SIGTERM to all of its processes, so that the work has its own; what asks only the task to pause
// (scancel --batch) is passed on.
int runTask(const fs::path& path)
{
    sigset_t taken;
    sigemptyset(&taken);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD})
        sigaddset(&taken, signal);
    sigprocmask(SIG_BLOCK, &taken, nullptr);
    const JobFolder folder(path);
    const Json job = Json::parse(textOfFile(folder.file(kJobFile)));
    const int tasks = int(std::max<std::int64_t>(numberIn(job, "tasks"), 1));
    const int task = tasks > 1 ? parseNumber<int>(environmentVariable("SLURM_ARRAY_TASK_ID")).value_or(0) : 0;
    const auto file = [&](const char* name) { return taskFile(name, task, tasks); };
    pid_t pid = -1;
    const int reason = start(wordsOf(job, folder),
                             {folder.file(file("out").c_str()), folder.file(file("err").c_str())}, job, pid);
    if (reason != 0) {
        folder.write(file("ended").c_str(), startFailure(reason).dump());
        return 1;
    }
    siginfo_t ended{};
    while (waitid(P_PID, id_t(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
        int signal = 0;
        if (sigwait(&taken, &signal) == 0 && signal == SIGUSR1)
            kill(pid, SIGUSR1);
    }
    const Json end = endOf(pid);
    folder.write(file("ended").c_str(), end.dump());
    const auto code = int(numberIn(end, "code"));
    constexpr int kSignalled = 128;
    return code != 0 ? code : numberIn(end, "signal") != 0 ? kSignalled : 0;
}

} // namespace tilescope::hosts
