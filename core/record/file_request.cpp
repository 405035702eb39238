#include "core/record/file_request.h"

#include "core/base/file_descriptor.h"
#include "core/record/file_protocol.h"

#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace tilescope::record {

using namespace files;

namespace {

constexpr timeval kLongestAnswer{2, 0};

/// Connects and sends a request.
FileDescriptor asked(std::string_view address, std::string_view verb, const std::filesystem::path& file,
                     std::string_view text)
{
    const std::size_t colon = address.find(':');
    sockaddr_un name{};
    const socklen_t size = abstractAddress(address.substr(0, colon), name);
    if (colon == std::string_view::npos || size == 0)
        return {};
    FileDescriptor peer(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    std::string request(address.substr(colon + 1));
    request.append(" ").append(verb).append(file.filename().native());
    if (!text.empty())
        request.append(" ").append(text);
    request.resize(std::min(request.size(), kLongestRequest));
    if (!peer ||
        setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongestAnswer, sizeof(kLongestAnswer)) != 0 ||
        setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &kLongestAnswer, sizeof(kLongestAnswer)) != 0 ||
        connect(peer.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
        send(peer.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
        return {};
    return peer;
}

/// \param isAnswered  false: the other side closed the connection instead
/// \return  the descriptor that it sends; -1: none
int answerOf(int peer, bool& isAnswered)
{
    std::int32_t told = EPROTO;
    iovec part{.iov_base = &told, .iov_len = sizeof(told)};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(peer, &message, MSG_CMSG_CLOEXEC);
    isAnswered = got != 0;
    if (got != sizeof(told) || told != 0)
        return -1;
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1; // there was no room for it
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof(descriptor));
    return descriptor;
}

/// The same. The server does not wait for a request that comes late, as on a busy machine: it is made again.
int answerTo(std::string_view address, std::string_view verb, const std::filesystem::path& file,
             std::string_view text)
{
    constexpr int kMostRequests = 3;
    bool isAnswered = false;
    int descriptor = -1;
    for (int request = 0; !isAnswered && request < kMostRequests; ++request) {
        const FileDescriptor peer = asked(address, verb, file, text);
        if (!peer)
            return -1;
        descriptor = answerOf(peer.get(), isAnswered);
    }
    return descriptor;
}

} // namespace

bool isOutOfReach(int error) noexcept
{
    // Not what filters of system calls return, which may end a process that makes a socket.
    return error == EACCES || error == EROFS || error == ENOENT || error == ENOTDIR || error == EDQUOT ||
           error == ENOSPC;
}

int requestFile(std::string_view address, const std::filesystem::path& file) noexcept
{
    try {
        return answerTo(address, kOpen, file, {});
    } catch (...) {
        return -1; // no memory
    }
}

void tellEnd(std::string_view address, const std::filesystem::path& file, std::string_view text) noexcept
{
    try {
        answerTo(address, kEnd, file, text); // until it has been read
    } catch (...) {
        return; // no memory
    }
}

} // namespace tilescope::record
