#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// The protocol of a control socket; see control.h.
namespace tilescope::record::control {

inline constexpr std::string_view kVersion = "tilescope record 1 ";
inline constexpr std::string_view kObeyed = "ok";
inline constexpr std::string_view kSuffix = ".socket";
inline constexpr int kTimeout = 100;       // ms that a peer may take for its line
inline constexpr int kLongAnswer = 20'000; // ms: starting and stopping take less

inline std::optional<sockaddr_un> addressOf(const std::filesystem::path& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = path.string();
    if (text.size() >= sizeof(address.sun_path))
        return std::nullopt;
    text.copy(address.sun_path, text.size());
    return address;
}

inline bool isOwnPeer(int descriptor)
{
    ucred peer{};
    socklen_t size = sizeof(peer);
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/// A line without its end; what came in time.
inline std::string lineFrom(int descriptor, int timeoutMs)
{
    std::string line;
    while (line.size() < 256 && !line.ends_with('\n')) {
        pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
        std::array<char, 256> part{};
        if (poll(&wait, 1, timeoutMs) <= 0)
            break;
        const ssize_t got = recv(descriptor, part.data(), part.size(), 0);
        if (got <= 0)
            break;
        line.append(part.data(), static_cast<std::size_t>(got));
    }
    return line.substr(0, line.find('\n'));
}

inline void sendLine(int descriptor, std::string line)
{
    line += '\n';
    static_cast<void>(!send(descriptor, line.data(), line.size(), MSG_NOSIGNAL));
}

} // namespace tilescope::record::control
