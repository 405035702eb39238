#pragma once

#include "core/session/protocol/file_descriptor.h"

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
    int signal = 0; ///< the signal that ended it, 0 where none did

    /// `SIGSEGV (segmentation fault)` or `exit code 3`.
    std::string text() const;
};

/// A program that was started with pipes on its three standard streams (ours do not block). It is killed and
/// reaped when this is destroyed. One thread.
class ChildProcess {
public:
    /// \param environment  variables that replace or extend ours
    /// \throws Error (Environment)  where the program cannot be started
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    FileDescriptor input;  ///< its standard input, for us to write
    FileDescriptor output; ///< its standard output, for us to read
    FileDescriptor error;  ///< its standard error, for us to read

    pid_t pid() const { return pid_; }
    /// Nothing happens where it has ended.
    void signal(int number);
    /// Its end, as soon as it has ended. Never waits.
    std::optional<ExitStatus> ended();

private:
    pid_t pid_ = -1;
    std::optional<ExitStatus> status_;
};

} // namespace tilescope::session
