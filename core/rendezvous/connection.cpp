#include "core/rendezvous/connection.h"

#include "core/base/error.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>

namespace tilescope::rendezvous {

namespace {

using namespace std::chrono_literals;

/// Time for one address to answer, and for each part of the proofs.
constexpr auto kAnswerTime = 5s;
/// Longest pause within a frame, while sending or receiving it.
constexpr auto kTransferTime = 120s;

void setTimeouts(const FileDescriptor& socket, std::chrono::seconds time)
{
    const timeval value{.tv_sec = time.count(), .tv_usec = 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

bool receiveAll(const FileDescriptor& socket, void* to, std::size_t bytes)
{
    auto* next = static_cast<std::byte*>(to);
    while (bytes > 0) {
        const ssize_t got = recv(socket.get(), next, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool sendText(const FileDescriptor& socket, const std::string& text)
{
    return ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// Exchanges the proofs; false if the other side is not the hub.
bool greet(const FileDescriptor& socket, const std::string& secret)
{
    const std::string nonce = randomText();
    std::string answer(kNonceBytes + kProofBytes, '\0');
    if (!sendText(socket, std::string(kGreeting) + nonce) ||
        !receiveAll(socket, answer.data(), answer.size()))
        return false;
    const std::string hubNonce = answer.substr(0, kNonceBytes);
    return areEqual(answer.substr(kNonceBytes), proofOf(secret, "hub", nonce, hubNonce)) &&
           sendText(socket, proofOf(secret, "rank", nonce, hubNonce));
}

struct Addresses {
    using List = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
    static List of(const std::string& host, int port)
    {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
            found = nullptr;
        return {found, &freeaddrinfo};
    }
};

/// A socket that is connected to that address; none if it does not answer.
FileDescriptor connectedTo(const addrinfo& address)
{
    FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, address.ai_protocol));
    if (!socket)
        return {};
    setTimeouts(socket, kAnswerTime); // SO_SNDTIMEO also limits connect()
    if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0)
        return {};
    setUp(socket);
    return socket;
}

} // namespace

void setUp(const FileDescriptor& socket)
{
    const auto set = [&](int level, int option, int value) {
        setsockopt(socket.get(), level, option, &value, sizeof(value));
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

Connection::Connection(const HubAddress& hub)
{
    std::string tried;
    for (const std::string& host : hub.hosts) {
        const Addresses::List addresses = Addresses::of(host, hub.port);
        for (const addrinfo* address = addresses.get(); address; address = address->ai_next) {
            FileDescriptor socket = connectedTo(*address);
            if (!socket || !greet(socket, hub.secret))
                continue;
            setTimeouts(socket, kTransferTime);
            socket_ = std::move(socket);
            return;
        }
        tried += (tried.empty() ? "" : ", ") + host;
    }
    throw Error{.what = "the host of rank 0 cannot be reached",
                .where = tried + " port " + std::to_string(hub.port),
                .remedy = "allow TCP connections among the nodes of the job",
                .kind = ErrorKind::Environment};
}

bool Connection::sendAll(std::span<const std::byte> bytes)
{
    while (!hasEnded_ && !bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        hasEnded_ = sent <= 0;
        if (sent > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return !hasEnded_;
}

bool Connection::send(Frame frame, std::span<const std::byte> content)
{
    frame.bytes = static_cast<std::uint32_t>(content.size());
    return sendAll(encode(frame)) && sendAll(content);
}

std::optional<Frame> Connection::receive(std::chrono::milliseconds most)
{
    if (hasEnded_)
        return {};
    pollfd watched{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&watched, 1, static_cast<int>(most.count())) <= 0)
        return {};
    HeaderBytes header{};
    std::optional<Frame> frame;
    if (receiveAll(socket_, header.data(), header.size()))
        frame = decode(header);
    hasEnded_ = !frame;
    return frame;
}

bool Connection::receiveBytes(std::span<std::byte> content)
{
    if (!hasEnded_ && !content.empty())
        hasEnded_ = !receiveAll(socket_, content.data(), content.size());
    return !hasEnded_;
}

void Connection::shutDown()
{
    ::shutdown(socket_.get(), SHUT_RDWR);
}

} // namespace tilescope::rendezvous
