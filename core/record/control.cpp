#include "core/record/control.h"

#include "core/base/file_descriptor.h"
#include "core/record/control_line.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace tilescope::record {

namespace fs = std::filesystem;

using namespace control;

namespace {

/// Binds a socket in a folder, which is created. Another process may remove the folder while it is empty.
bool bindIn(const fs::path& folder, int descriptor, const sockaddr_un& address)
{
    constexpr int kTries = 10;
    for (int i = 0; i < kTries; ++i) {
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            return false;
        if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
            return true;
        if (errno != ENOENT)
            return false;
    }
    return false;
}

} // namespace

fs::path controlFolder()
{
    const char* folder = std::getenv("XDG_RUNTIME_DIR");
    return folder && *folder == '/' ? fs::path(folder) / "tilescope-record" : fs::path();
}

bool ControlSocket::open(std::int64_t recorder) noexcept
{
    try {
        fs::path folder = controlFolder();
        if (folder.empty())
            return false;
        fs::path path =
            folder / (std::to_string(recorder) + "-" + std::to_string(getpid()) + std::string(kSuffix));
        const auto address = addressOf(path);
        descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (!address || descriptor_ < 0)
            return false;
        unlink(path.c_str()); // of an earlier process with this id
        // The mode of the descriptor becomes the socket's: it is never open to others.
        if (fchmod(descriptor_, 0600) != 0 || !bindIn(folder, descriptor_, *address)) {
            abandon();
            return false;
        }
        path_.swap(path);
        folder_.swap(folder);
        if (chmod(path_.c_str(), 0600) != 0 || listen(descriptor_, 8) != 0) {
            close();
            return false;
        }
        return true;
    } catch (...) {
        return false;
    }
}

void ControlSocket::serve(const std::function<std::string(std::string_view verb)>& answer) noexcept
{
    try {
        while (descriptor_ >= 0) {
            const FileDescriptor peer(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
            if (!peer)
                return;
            if (!isOwnPeer(peer.get()))
                continue;
            const std::string line = lineFrom(peer.get(), kTimeout);
            if (!line.starts_with(kVersion)) {
                sendLine(peer.get(), "it was recorded by another version of Tilescope");
                continue;
            }
            const std::string refusal = answer(std::string_view(line).substr(kVersion.size()));
            sendLine(peer.get(), refusal.empty() ? std::string(kObeyed) : refusal);
        }
    } catch (...) {
        return; // no memory: the request has no answer
    }
}

void ControlSocket::close() noexcept
{
    abandon();
    if (path_.empty())
        return;
    unlink(path_.c_str());
    rmdir(folder_.c_str()); // fails while it holds sockets of others
    path_.clear();
}

void ControlSocket::abandon() noexcept
{
    if (descriptor_ >= 0)
        ::close(std::exchange(descriptor_, -1));
}

} // namespace tilescope::record
