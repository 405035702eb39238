#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// How `tilescope record --start PID` and `--stop PID` reach a recorded process: a Unix socket of each process in a
/// folder of the user, through which only the user or root may speak. A request is one line with the version of the
/// protocol and a verb, the answer one line that begins with `ok` or says why not.
namespace tilescope::record {

/// $XDG_RUNTIME_DIR/tilescope-record; empty where the variable is not set.
std::filesystem::path controlFolder();

/// A process' end of the socket. One thread.
class ControlSocket {
public:
    ControlSocket() = default;
    ~ControlSocket() { close(); }
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    /// Creates the socket, with mode 0600, for this process and the `tilescope record` that started it.
    /// \return  whether it can be reached; without a folder for it no process can
    bool open(std::int64_t recorder) noexcept;
    /// Answers the requests that wait. Does not wait for any.
    /// \param answer  gets the verb, start or stop, and returns why it cannot be obeyed; empty: it is
    void serve(const std::function<std::string(std::string_view verb)>& answer) noexcept;
    /// Removes the socket, and the folder if it is empty.
    void close() noexcept;
    /// Closes it without removing it, as a forked child must.
    void abandon() noexcept;

private:
    int descriptor_ = -1;
    std::filesystem::path path_;
    std::filesystem::path folder_; ///< of `path_`: there may be no memory when it is closed
};

/// The ids of those that obeyed a verb.
struct Obeyed {
    std::vector<std::int64_t> processes; ///< that are recorded
    std::vector<std::int64_t>
        recorders; ///< `tilescope record` that waited for others, which only `stop` reaches
};

/// Sends a verb to the process with this id, or to all that the `tilescope record` with this id has started, and to itself.
/// \throws Error  no such process is recorded, or one refused
Obeyed tellProcesses(std::int64_t pid, std::string_view verb);

/// Removes what processes left behind that have ended, and the folder if it is empty.
void removeSockets() noexcept;

} // namespace tilescope::record
