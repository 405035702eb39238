// The process between a job and the clients that come and go: it starts the work and notes how it ended.

#include "core/base/file_descriptor.h"
#include "core/base/paths.h"
#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"
#include "core/hosts/job_folder.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/server.h"
#include "core/hosts/slurm.h"

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

/// Whether the work is submitted to Slurm.
bool isForSlurm(const Json& job)
{
    return job.contains("sbatch") && job["sbatch"].is_array();
}

/// Starts the work, or the sbatch that stands for it, as the leader of a group of its own.
/// \return  0 or the reason in errno's values
int start(const Json& job, const JobFolder& folder, pid_t& pid)
{
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    constexpr int kToFile = O_WRONLY | O_CREAT | O_APPEND;
    const std::string output = folder.file(isForSlurm(job) ? kSlurmFile : "out");
    posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, output.c_str(), kToFile, 0600);
    posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, folder.file("err").c_str(), kToFile,
                                     0600);
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
    std::vector<std::string> words = wordsOf(job, folder);
    if (isForSlurm(job))
        words = sbatchWords(folder, words, job["sbatch"].get<std::vector<std::string>>(), cwd);
    const fs::path program = findProgram(words.front());
    if (program.empty())
        return ENOENT;
    std::vector<std::string> variables = environmentWith({});
    return posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                       pointersTo(words).data(), pointersTo(variables).data());
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
    pid_t pid = -1;
    const int failure = start(job, folder, pid);
    Json status;
    if (failure != 0) {
        status = {{"code", 3},
                  {"signal", 0},
                  {"failure", std::string("the work did not start (") + std::strerror(failure) + ")"}};
        folder.write("status", status.dump());
        return 1;
    }
    folder.write("pid", std::to_string(pid));
    // The server waits for this line; from here on the work is on its own.
    [[maybe_unused]] const ssize_t told = write(STDOUT_FILENO, "started\n", 8);
    const FileDescriptor nowhere{open("/dev/null", O_RDWR | O_CLOEXEC)};
    dup2(nowhere.get(), STDOUT_FILENO);
    int raw = 0;
    while (waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
    }
    status = {{"code", WIFEXITED(raw) ? WEXITSTATUS(raw) : 0},
              {"signal", WIFSIGNALED(raw) ? WTERMSIG(raw) : 0}};
    folder.write("status", status.dump());
    return 0;
}

} // namespace tilescope::hosts
