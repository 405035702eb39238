#pragma once

#include "core/base/error.h"
#include "core/hosts/host_list.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {
class ChildProcess;
}

namespace tilescope::hosts {

/// Why a host cannot be reached.
struct ConnectionError : Error {
    bool mayPass =
        true; ///< a network or a server that comes back; false: a wrong key, no access, no such name
};

/// Thrown when an operation was stopped by its stop token.
struct Stopped {};

/// What a command on a host printed, each at most 64 KiB, and its exit code.
struct CommandOutcome {
    int code = 0;
    std::string out;
    std::string err;
};

/// `text` as one word of a POSIX shell, in single quotes. SshLink makes lines of such words fit for any login shell.
/// \throws Error (Usage)  it has control characters
std::string quotedForHost(std::string_view text);

/// The last line that a program of a host printed, escaped and cut, for a sentence; may be empty.
std::string lastWords(std::string_view words);

/// From now on ssh asks in dialogs where it has an askpass program, even if there is a terminal: for programs with a window.
void askInDialogs();

/// One connection to a host that all commands and files share. A host that is this machine (Host::isLocal) needs none: its
/// commands are started here. For others it is the system's ssh client with a control socket in a folder
/// that only the user can enter. Several processes share it, too; it ends ten minutes after its last use.
///
/// Keys, agent, jump hosts and known_hosts are those of the user. Passwords are asked for by ssh itself, on the terminal
/// or with its askpass program; without either nothing is asked. No port and no agent is forwarded. One thread; several
/// links to a host may exist.
class SshLink {
public:
    explicit SshLink(Host host);

    const Host& host() const { return host_; }

    /// Connects unless the connection is there. A stop also ends what asks the user.
    /// \throws ConnectionError  one sentence: no such host, refused, wrong host key, no key accepted, …
    /// \throws Stopped
    void open(std::stop_token stop = {});
    bool isOpen() const;
    /// Ends the shared connection.
    void close();

    /// Runs a line of sh on the host.
    /// \param input  the next bytes for its standard input; empty: the end
    /// \param limit  after which noAnswer() is thrown
    /// \throws ConnectionError  the connection was lost, or there is none
    /// \throws Stopped
    CommandOutcome run(const std::string& line, const std::function<std::string_view()>& input = {},
                       std::stop_token stop = {}, std::optional<std::chrono::seconds> limit = {}) const;

    /// Starts a line of sh on the host; its streams are those of the process. Exit code 255: the connection was lost.
    std::unique_ptr<session::ChildProcess> start(const std::string& line) const;

    /// The set-up lines of the host followed by `line`. What they print goes to standard error.
    std::string withSetUp(const std::string& line) const;
    /// The same; `ifFails`, with the number of the line from 1 after it, follows a set-up line that fails.
    std::string withSetUp(const std::string& line, const std::string& ifFails) const;

    /// The error of a lost connection.
    ConnectionError lost(std::string_view words) const;

private:
    std::vector<std::string> shared() const;

    Host host_;
    std::filesystem::path ssh_;
    std::filesystem::path socket_;
};

/// How long a host may take for its login scripts and set-up lines before something is wrong.
inline constexpr std::chrono::seconds kMostSilence{120};
/// That a host did not answer in time.
Error noAnswer(const Host& host, std::chrono::seconds limit);

/// That a host's shell did not run a line.
Error noShell(const Host& host, const CommandOutcome& outcome);

/// The sentence for what ssh says when it cannot connect.
/// \param words  its standard error, untrusted
ConnectionError connectionError(const Host& host, std::string_view words);

} // namespace tilescope::hosts
