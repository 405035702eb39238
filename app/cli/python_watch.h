#pragma once

#include "core/base/mutex.h"

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tilescope::cli {

/// The reasons that keep a Python program from loading the bootstrap. Each is reported once.
enum class BootstrapObstacle {
    None,
    Options,
    SearchPath,
    Shadowed,
    Removed,
    Environment,
    Unreadable,
    OtherUser,
    Sandbox
};

/// Whether options (-I, -E, -S) keep the bootstrap out; None if the words are not a command line of Python.
BootstrapObstacle obstacleIn(const std::vector<std::string>& words);

/// Reports on standard error which Python programs among a process and its descendants cannot load the
/// bootstrap. The way of starting does not matter: a launcher, `env` or a script's first line. Reads command
/// lines in /proc with growing pauses, so that it may miss only a program that ends within half a second.
///
/// A thread watches from construction to destruction.
class PythonWatch {
public:
    /// \param bootstrap  folder that PYTHONPATH must contain
    /// \param known      what has been said already
    PythonWatch(int process, std::filesystem::path bootstrap, BootstrapObstacle known);
    ~PythonWatch() { stop(); }
    PythonWatch(const PythonWatch&) = delete;
    PythonWatch& operator=(const PythonWatch&) = delete;

    /// \return  whether something was reported, now or before
    bool stop();

private:
    void run();
    void look();
    void examine(int process);

    const int process_;
    const std::filesystem::path bootstrap_;
    std::set<BootstrapObstacle> said_; // the thread's
    Mutex mutex_;
    bool ends_ GUARDED_BY(mutex_) = false;
    Condition changed_;
    std::thread thread_;
};

/// Says on standard error that a program is not recorded as it could be, and why.
void sayObstacle(BootstrapObstacle obstacle, const std::vector<std::string>& words);

} // namespace tilescope::cli
