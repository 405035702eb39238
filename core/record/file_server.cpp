#include "core/record/file_server.h"

#include "core/record/file_protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace tilescope::record {

using namespace files;

namespace {

constexpr std::size_t kMostEnds = 1000;
constexpr int kMostAtOnce = 8;    // requests, until the next call
constexpr int kRequestTime = 100; // ms that a peer may take for its request
constexpr int kPause = 50'000;    // us, where no peer can be accepted
constexpr std::string_view kFileSuffix = ".working";

std::string randomText()
{
    std::random_device random;
    std::string text;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (int i = 0; i < 4; ++i)
        for (std::uint32_t word = random(), digit = 0; digit < 8; ++digit, word >>= 4)
            text += kDigits[word & 15];
    return text;
}

/// Whether it is that of a working file, which is beside no other folder: PID-TIME.working.
bool isName(std::string_view name)
{
    if (!name.ends_with(kFileSuffix))
        return false;
    name.remove_suffix(kFileSuffix.size());
    constexpr std::size_t kLongest = 64;
    return !name.empty() && name.size() <= kLongest &&
           std::ranges::all_of(name, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

/// Sends an errno, and a descriptor if it is 0.
void reply(int peer, std::int32_t error, int descriptor)
{
    iovec part{.iov_base = &error, .iov_len = sizeof(error)};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (error == 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &descriptor, sizeof(descriptor));
    }
    static_cast<void>(!sendmsg(peer, &message, MSG_NOSIGNAL));
}

} // namespace

FileServer::FileServer(const std::filesystem::path& folder)
    : folder_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), key_(randomText())
{
    const std::string name = randomText();
    sockaddr_un address{};
    const socklen_t size = abstractAddress(name, address);
    constexpr int kBacklog = 64;
    if (folder_ && socket_ && bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        listen(socket_.get(), kBacklog) == 0)
        address_ = name + ":" + key_;
    else
        socket_.reset();
}

void FileServer::serve() noexcept
{
    try {
        // Others may ask without end.
        for (int i = 0; socket_ && i < kMostAtOnce; ++i) {
            const FileDescriptor peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!peer) {
                if (errno != EAGAIN)
                    usleep(kPause); // it stays readable: the caller would not wait
                return;
            }
            answer(peer.get());
        }
    } catch (...) {
        return; // no memory: the request has no answer
    }
}

void FileServer::answer(int peer)
{
    pollfd wait{.fd = peer, .events = POLLIN, .revents = 0};
    std::array<char, kLongestRequest> received{};
    if (poll(&wait, 1, kRequestTime) <= 0)
        return;
    const ssize_t got = recv(peer, received.data(), received.size(), MSG_DONTWAIT);
    std::string_view request(received.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (!request.starts_with(key_ + " "))
        return;
    request.remove_prefix(key_.size() + 1);
    const bool opens = request.starts_with(kOpen);
    if (!opens && !request.starts_with(kEnd))
        return;
    request.remove_prefix(opens ? kOpen.size() : kEnd.size());
    const std::size_t space = request.find(' ');
    const std::string name(request.substr(0, space));
    if (!isName(name))
        return;
    if (!opens) {
        if (space != std::string_view::npos && ends_.size() < kMostEnds)
            ends_.emplace(name, request.substr(space + 1));
        reply(peer, ECANCELED, -1);
        return;
    }
    const FileDescriptor file(
        openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    reply(peer, file ? 0 : errno, file.get());
}

} // namespace tilescope::record
