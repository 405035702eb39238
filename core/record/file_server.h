#pragma once

#include "core/base/file_descriptor.h"

#include <filesystem>
#include <map>
#include <string>

namespace tilescope::record {

/// Gives a process its working file where it cannot open it itself: it runs as another user, has another root or another
/// view of the file system, or sees the folder as read-only. `tilescope record` opens the file and passes the descriptor
/// through an abstract Unix socket, which no file system holds. Whoever asks must know a key from the options of the
/// recording. A process in a network namespace of its own does not reach it. One thread.
class FileServer {
public:
    /// Without a socket, if none can be made.
    explicit FileServer(const std::filesystem::path& folder);

    /// The option `files` of the recording: the name of the socket and the key; empty without a socket.
    const std::string& address() const { return address_; }
    /// It can be read when a process asks; -1 without a socket.
    int descriptor() const { return socket_.get(); }
    /// Answers some of those that ask. A peer may keep it for 0.1 s.
    void serve() noexcept;
    /// Why processes were not recorded that could not note it in the folder, by the name of their working file.
    const std::map<std::string, std::string>& ends() const { return ends_; }

private:
    void answer(int peer);

    FileDescriptor folder_;
    FileDescriptor socket_;
    std::string address_;
    std::string key_;
    std::map<std::string, std::string> ends_;
};

} // namespace tilescope::record
