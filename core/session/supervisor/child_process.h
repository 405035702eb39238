#pragma once

#include "core/base/file_descriptor.h"

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::session {

/// How a process ended.
struct ExitStatus {
    int code = 0;   ///< exit code; meaningless after a signal
    int signal = 0; ///< the signal that ended it; 0 if none

    /// `SIGSEGV (segmentation fault)` or `exit code 3`.
    std::string text() const;
};

/// A child process with pipes on its three standard streams (non-blocking on our side). The destructor kills
/// and reaps it. One thread.
///
/// With srun, the child is srun itself and represents a program on another node: signals and exit statuses are those of
/// the program. srun forwards SIGUSR1, so SIGUSR1 replaces SIGTERM; srun ends the program when it gets SIGTERM itself.
class ChildProcess {
public:
    enum class Kind { Local, ThroughSrun };

    /// \param program      found in PATH if it is a name only
    /// \param environment  variables that replace or extend ours
    /// \throws Error (Environment)  the program cannot be started
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment, Kind kind = Kind::Local);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    FileDescriptor input;  ///< its standard input, which we write
    FileDescriptor output; ///< its standard output, which we read
    FileDescriptor error;  ///< its standard error, which we read

    pid_t pid() const { return pid_; }
    /// Does nothing if it has ended.
    void signal(int number);
    /// The exit status once it has ended. Does not wait.
    std::optional<ExitStatus> ended();

private:
    const Kind kind_;
    pid_t pid_ = -1;
    std::optional<ExitStatus> status_;
};

} // namespace tilescope::session
