#include "app/cli/python_watch.h"

#include "app/cli/recorded_processes.h"
#include "core/base/terminal_text.h"
#include "core/record/command_line.h"
#include "core/record/options.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(50);
constexpr auto kLongestPause = std::chrono::milliseconds(500);

bool isPython(const std::vector<std::string>& words)
{
    return !words.empty() && fs::path(words.front()).filename().string().starts_with("python");
}

/// TorchInductor's helper processes compile kernels: they have no steps or modules that could be recorded. They are
/// started with a PYTHONPATH of their own.
bool isCompileWorker(const std::vector<std::string>& words)
{
    return std::ranges::any_of(words, [](const std::string& word) {
        return word.find("torch/_inductor/compile_worker") != std::string::npos;
    });
}

std::vector<int> childrenOf(int process)
{
    std::vector<int> children;
    std::error_code ended;
    for (const fs::directory_entry& thread :
         fs::directory_iterator("/proc/" + std::to_string(process) + "/task", ended)) {
        std::ifstream in(thread.path() / "children");
        for (int child = 0; in >> child;)
            children.push_back(child);
    }
    return children;
}

/// What a PYTHONPATH keeps from a Python program: Python runs the first sitecustomize only.
BootstrapObstacle obstacleOfPath(const fs::path& process, const std::string& path, const fs::path& folder)
{
    std::istringstream entries(path);
    std::error_code ended;
    BootstrapObstacle before = BootstrapObstacle::None;
    for (std::string entry; std::getline(entries, entry, ':');) {
        if (entry == folder.string())
            return before;
        // A relative one is relative to the process' folder.
        if (fs::exists(process / "cwd" / entry / "sitecustomize.py", ended))
            before = BootstrapObstacle::Shadowed;
    }
    return BootstrapObstacle::SearchPath;
}

/// The user whose files a process may read; none: it has ended.
std::optional<uid_t> userOf(const fs::path& process)
{
    constexpr std::string_view kKey = "Uid:";
    std::ifstream in(process / "status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(kKey)) {
            std::istringstream ids(line.substr(kKey.size()));
            uid_t real = 0;
            uid_t effective = 0;
            uid_t saved = 0;
            uid_t files = 0;
            if (ids >> real >> effective >> saved >> files)
                return files;
        }
    return std::nullopt;
}

/// Whether a process can read the folder, and write into the one that holds it.
struct Access {
    bool reads = true;
    bool writes = true;
};
Access accessTo(const fs::path& folder, const fs::path& process)
{
    struct stat own {};
    struct stat seen {};
    const std::optional<uid_t> user = userOf(process);
    if (!user || stat(folder.c_str(), &own) != 0)
        return {};
    if (*user != 0 && *user != own.st_uid) // only its owner may
        return {.reads = false, .writes = false};
    const fs::path there = process / "root" / folder.relative_path();
    if (stat(there.c_str(), &seen) != 0) {
        const bool isUnknown = errno == EACCES || !fs::exists(process / "root");
        return {.reads = isUnknown, .writes = isUnknown};
    }
    if (seen.st_ino != own.st_ino)
        return {.reads = false, .writes = false};
    struct statvfs system {};
    return {.reads = true,
            .writes = statvfs(there.parent_path().c_str(), &system) != 0 || (system.f_flag & ST_RDONLY) == 0};
}

/// Whether it can reach this process by an abstract socket.
bool sharesNetwork(const fs::path& process)
{
    std::error_code error;
    const fs::path other = fs::read_symlink(process / "ns/net", error);
    return error || other == fs::read_symlink("/proc/self/ns/net", error);
}

/// What the environment of a Python program keeps from it.
BootstrapObstacle obstacleIn(const fs::path& process, const fs::path& folder)
{
    constexpr std::string_view kVariable = "PYTHONPATH=";
    const Access access = accessTo(folder, process);
    if (hasRecorder(process))
        return access.writes || sharesNetwork(process) ? BootstrapObstacle::None : BootstrapObstacle::Sandbox;
    if (!std::ifstream(process / "environ").is_open())
        return access.reads ? BootstrapObstacle::None : BootstrapObstacle::OtherUser;
    bool hasOthers = false;
    for (const std::string& each : record::wordsOfFile(process / "environ")) {
        if (each.starts_with(kVariable)) {
            const BootstrapObstacle ofPath = obstacleOfPath(process, each.substr(kVariable.size()), folder);
            return ofPath == BootstrapObstacle::None && !access.reads ? BootstrapObstacle::Unreadable
                                                                      : ofPath;
        }
        hasOthers = hasOthers || each.starts_with(record::kFolderVariable);
    }
    if (hasOthers)
        return BootstrapObstacle::Removed;
    // One that ends has no environment any more.
    return record::wordsOfFile(process / "cmdline").empty() ? BootstrapObstacle::None
                                                            : BootstrapObstacle::Environment;
}

std::string_view obstacleText(BootstrapObstacle obstacle)
{
    switch (obstacle) {
    case BootstrapObstacle::Options:
        return "Python's options -I, -E and -S keep PyTorch's steps, modules and memory from being "
               "recorded; leave them out, or let the program call tilescope.record(): ";
    case BootstrapObstacle::SearchPath:
        return "PyTorch's steps, modules and memory are not recorded, because PYTHONPATH was replaced; add "
               "$PYTHONPATH to it: ";
    case BootstrapObstacle::Shadowed:
        return "PyTorch's steps, modules and memory are recorded only if the sitecustomize.py that comes "
               "first "
               "in PYTHONPATH runs the next one; put its folder behind $PYTHONPATH: ";
    case BootstrapObstacle::Removed:
        return "PyTorch's steps, modules and memory are not recorded, because PYTHONPATH was removed; keep "
               "it, "
               "or let the program call tilescope.record(): ";
    case BootstrapObstacle::Environment:
        return "PyTorch's steps, modules and memory are not recorded, because the program was started "
               "without the variables of this environment, such as PYTHONPATH; pass them on: ";
    case BootstrapObstacle::Unreadable:
        return "PyTorch's steps, modules and memory are not recorded, because the program runs as another "
               "user or sees other files, and cannot read the folder of the recording; let it call "
               "tilescope.record(): ";
    case BootstrapObstacle::OtherUser:
        return "PyTorch's steps, modules and memory are recorded only if the program, which runs as another "
               "user, gets the variables of this environment and may read the folder of the recording: ";
    case BootstrapObstacle::Sandbox:
        return "the program runs in a sandbox without access to the folder of the recording and to this "
               "process; only what it had begun to record before is kept: ";
    case BootstrapObstacle::None:
        break;
    }
    return {};
}

} // namespace

BootstrapObstacle obstacleIn(const std::vector<std::string>& words)
{
    if (!isPython(words))
        return BootstrapObstacle::None;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word.size() < 2 || word.front() != '-')
            break; // the rest is the program's
        if (word.starts_with("--"))
            continue;
        for (std::size_t at = 1; at < word.size(); ++at) {
            const char option = word[at];
            if (option == 'I' || option == 'E' || option == 'S')
                return BootstrapObstacle::Options;
            if (option == 'm' || option == 'c')
                return BootstrapObstacle::None;
            if (option == 'W' || option == 'X') {
                if (at + 1 == word.size())
                    ++i; // its argument is the next word
                break;
            }
        }
    }
    return BootstrapObstacle::None;
}

void sayObstacle(BootstrapObstacle obstacle, const std::vector<std::string>& words)
{
    constexpr std::size_t kMostCommand = 80;
    const std::string command = record::maskedCommandLine(words).substr(0, kMostCommand);
    std::cerr << "tilescope record: " << obstacleText(obstacle) << escapeForTerminal(command) << std::endl;
}

PythonWatch::PythonWatch(int process, fs::path bootstrap, BootstrapObstacle known)
    : process_(process), bootstrap_(std::move(bootstrap)), said_{BootstrapObstacle::None, known},
      thread_([this] { run(); })
{
}

bool PythonWatch::stop()
{
    {
        const MutexLock lock(mutex_);
        ends_ = true;
    }
    changed_.notifyAll();
    if (thread_.joinable())
        thread_.join();
    return said_.size() > 1; // None is among them
}

void PythonWatch::run()
{
    std::chrono::steady_clock::duration pause = kFirstPause;
    MutexLock lock(mutex_);
    while (!changed_.waitFor(lock, pause, [this]() REQUIRES(mutex_) { return ends_; })) {
        lock.unlock();
        look();
        lock.lock();
        pause = std::min<std::chrono::steady_clock::duration>(2 * pause, kLongestPause);
    }
}

void PythonWatch::look()
{
    try {
        std::vector<int> left{process_};
        while (!left.empty()) {
            const int process = left.back();
            left.pop_back();
            examine(process);
            const std::vector<int> children = childrenOf(process);
            left.insert(left.end(), children.begin(), children.end());
        }
    } catch (const std::exception&) {
        return; // no memory: the next look may find it
    }
}

void PythonWatch::examine(int process)
{
    const fs::path folder = "/proc/" + std::to_string(process);
    const std::vector<std::string> words = record::wordsOfFile(folder / "cmdline");
    if (!isPython(words) || isCompileWorker(words))
        return;
    BootstrapObstacle obstacle = obstacleIn(words);
    if (obstacle == BootstrapObstacle::None)
        obstacle = obstacleIn(folder, bootstrap_);
    if (said_.insert(obstacle).second)
        sayObstacle(obstacle, words);
}

} // namespace tilescope::cli
