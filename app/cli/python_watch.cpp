#include "app/cli/python_watch.h"

#include "core/base/terminal_text.h"
#include "core/record/command_line.h"
#include "core/record/options.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
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

/// What the environment of a Python program keeps from it.
BootstrapObstacle obstacleIn(const fs::path& process, const fs::path& folder)
{
    constexpr std::string_view kVariable = "PYTHONPATH=";
    if (!std::ifstream(process / "environ").is_open())
        return BootstrapObstacle::None; // another user's
    bool hasOthers = false;
    for (const std::string& each : record::wordsOfFile(process / "environ")) {
        if (each.starts_with(kVariable))
            return obstacleOfPath(process, each.substr(kVariable.size()), folder);
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
