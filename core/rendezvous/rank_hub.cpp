#include "core/rendezvous/rank_hub.h"

#include "core/base/error.h"
#include "core/base/this_host.h"
#include "core/base/units.h"
#include "core/rendezvous/connection.h"
#include "core/rendezvous/frame.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace tilescope::rendezvous {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ByteList = std::vector<std::byte>;
using Message = std::shared_ptr<const ByteList>; ///< a frame that several ranks get

/// Time in which a new connection must prove that it knows the secret.
constexpr auto kProofTime = 10s;
constexpr std::size_t kMostUnproven = 64;
constexpr std::size_t kMostGroups = 256;
/// Reads from one rank before the next gets its turn.
constexpr int kReadsInARow = 16;

Message messageOf(const Frame& frame, std::span<const std::byte> content = {})
{
    const HeaderBytes header = encode(frame);
    auto bytes = std::make_shared<ByteList>(header.size() + content.size());
    std::ranges::copy(content, std::ranges::copy(header, bytes->begin()).out);
    return bytes;
}

std::string_view textOf(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A connection as the hub sees it.
struct Peer {
    enum class State { Greeting, Proving, Proven, Joined };

    FileDescriptor socket;
    State state = State::Greeting;
    Clock::time_point since = Clock::now();
    bool isFaulty = false;

    ByteList input; ///< of the part that is being received
    std::size_t received = 0;
    std::deque<Message> output;
    std::size_t queued = 0; ///< bytes of `output`
    std::size_t sent = 0;   ///< of its first message

    std::string expectedProof;
    std::string group;
    int rank = -1;
};

struct Group {
    std::vector<Peer*> members; ///< by rank; null: has not joined, or has left
    int joined = 0;             ///< so far
    struct Early {
        int from;
        Message message;
    };
    std::vector<Early> early; ///< for ranks that have not joined yet
    std::size_t earlyBytes = 0;

    std::size_t mostQueued() const { return (4 * members.size() + 4) * kMostFrameBytes; }
    bool isOver() const
    {
        return joined == static_cast<int>(members.size()) &&
               std::ranges::all_of(members, [](const Peer* peer) { return !peer; });
    }
};

FileDescriptor listenAnywhere()
{
    for (const int family : {AF_INET6, AF_INET}) {
        FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_storage any{}; // all addresses, a free port
        any.ss_family = static_cast<sa_family_t>(family);
        const int both = 0; // accepts IPv4, too
        if (socket && family == AF_INET6)
            setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both));
        if (socket &&
            bind(socket.get(), reinterpret_cast<const sockaddr*>(&any),
                 family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0 &&
            listen(socket.get(), SOMAXCONN) == 0)
            return socket;
    }
    throw Error{.what = std::string("no TCP port can be opened for the ranks (") + std::strerror(errno) + ")",
                .remedy = "allow this program to listen on a TCP port",
                .kind = ErrorKind::Environment};
}

int portOf(const FileDescriptor& socket)
{
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
    // The port has the same place in both families.
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// The name of this host, its addresses, and last the one that processes on this host can always reach.
std::vector<std::string> hostsHere()
{
    std::vector<std::string> hosts;
    if (std::string name = hostName(); !name.empty())
        hosts.push_back(std::move(name));
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        all = nullptr;
    for (const ifaddrs* each = all; each; each = each->ifa_next) {
        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0 ||
            (each->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        std::array<char, INET_ADDRSTRLEN> text{};
        if (inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(),
                      text.size()))
            hosts.emplace_back(text.data());
    }
    freeifaddrs(all);
    hosts.emplace_back("127.0.0.1");
    return hosts;
}

} // namespace

/// What the hub's thread does.
class RankHub::Traffic {
public:
    Traffic(std::string secret, const FileDescriptor& listener, const FileDescriptor& end)
        : secret_(std::move(secret)), listener_(listener), end_(end)
    {
    }

    void run()
    {
        while (waitAndServe()) {
        }
    }

private:
    bool waitAndServe();
    void accept();
    void read(Peer& peer);
    std::size_t needed(Peer& peer) const;
    void take(Peer& peer);
    void takeGreeting(Peer& peer);
    void takeFrame(Peer& peer, Frame frame, std::span<const std::byte> content);
    void join(Peer& peer, const Frame& frame, std::span<const std::byte> name);
    void passOn(const Peer& from, const Message& message);
    void queue(Peer& peer, const Message& message, std::size_t most);
    void write(Peer& peer);
    void dropFaulty();

    const std::string secret_;
    const FileDescriptor& listener_;
    const FileDescriptor& end_;
    std::list<Peer> peers_;
    std::map<std::string, Group> groups_;
};

bool RankHub::Traffic::waitAndServe()
{
    std::vector<pollfd> watched{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Peer& peer : peers_)
        watched.push_back(
            {peer.socket.get(), static_cast<short>(peer.output.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    constexpr int kTickMs = 1000; // to notice connections that do not prove the secret in time
    if (poll(watched.data(), watched.size(), kTickMs) < 0)
        return true;
    if (watched[0].revents != 0)
        return false;
    auto state = watched.begin() + 2;
    for (Peer& peer : peers_) {
        if ((state->revents & (POLLIN | POLLERR | POLLHUP)) != 0)
            read(peer);
        if ((state->revents & POLLOUT) != 0)
            write(peer);
        if (peer.state < Peer::State::Proven && Clock::now() - peer.since > kProofTime)
            peer.isFaulty = true;
        ++state;
    }
    if (watched[1].revents != 0)
        accept();
    dropFaulty();
    return true;
}

void RankHub::Traffic::accept()
{
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const auto unproven =
        std::ranges::count_if(peers_, [](const Peer& peer) { return peer.state < Peer::State::Proven; });
    if (!socket || static_cast<std::size_t>(unproven) >= kMostUnproven)
        return;
    setUp(socket);
    peers_.emplace_back().socket = std::move(socket);
}

/// Number of bytes in the next part from the peer; 0 if the peer sent something other than a frame.
std::size_t RankHub::Traffic::needed(Peer& peer) const
{
    if (peer.state == Peer::State::Greeting)
        return kGreeting.size() + kNonceBytes;
    if (peer.state == Peer::State::Proving)
        return kProofBytes;
    if (peer.received < kHeaderBytes)
        return kHeaderBytes;
    const auto frame = decode(std::span(peer.input).first<kHeaderBytes>());
    return frame ? kHeaderBytes + frame->bytes : 0;
}

void RankHub::Traffic::read(Peer& peer)
{
    for (int i = 0; i < kReadsInARow && !peer.isFaulty; ++i) {
        const std::size_t most = needed(peer);
        peer.input.resize(most);
        const ssize_t got =
            recv(peer.socket.get(), peer.input.data() + peer.received, most - peer.received, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            peer.isFaulty = true;
            return;
        }
        peer.received += static_cast<std::size_t>(got);
        const std::size_t whole = needed(peer);
        if (whole == 0)
            peer.isFaulty = true;
        else if (peer.received == whole) {
            take(peer);
            peer.received = 0;
        }
    }
}

void RankHub::Traffic::take(Peer& peer)
{
    const std::span<const std::byte> input = peer.input;
    switch (peer.state) {
    case Peer::State::Greeting:
        return takeGreeting(peer);
    case Peer::State::Proving:
        peer.isFaulty = !areEqual(textOf(input), peer.expectedProof);
        peer.state = Peer::State::Proven;
        return;
    case Peer::State::Proven:
    case Peer::State::Joined:
        return takeFrame(peer, *decode(input.first<kHeaderBytes>()), input.subspan(kHeaderBytes));
    }
}

void RankHub::Traffic::takeGreeting(Peer& peer)
{
    const std::string_view greeting = textOf(peer.input);
    if (!greeting.starts_with(kGreeting)) {
        peer.isFaulty = true;
        return;
    }
    const std::string_view rankNonce = greeting.substr(kGreeting.size());
    const std::string nonce = randomText();
    peer.expectedProof = proofOf(secret_, "rank", rankNonce, nonce);
    const std::string answer = nonce + proofOf(secret_, "hub", rankNonce, nonce);
    const auto bytes = std::as_bytes(std::span(answer));
    queue(peer, std::make_shared<ByteList>(bytes.begin(), bytes.end()), kMostFrameBytes);
    peer.state = Peer::State::Proving;
}

void RankHub::Traffic::takeFrame(Peer& peer, Frame frame, std::span<const std::byte> content)
{
    if (frame.kind == FrameKind::Clock) {
        frame.number = nanosecondsOf(TraceClock::now());
        queue(peer, messageOf(frame), kMostFrameBytes);
    } else if (frame.kind == FrameKind::Join && peer.state == Peer::State::Proven) {
        join(peer, frame, content);
    } else if (peer.state == Peer::State::Joined &&
               (frame.kind == FrameKind::Arrived || frame.kind == FrameKind::Announced)) {
        frame.rank = peer.rank;
        passOn(peer, messageOf(frame, content));
    } else {
        peer.isFaulty = true;
    }
}

void RankHub::Traffic::join(Peer& peer, const Frame& frame, std::span<const std::byte> name)
{
    const std::string groupName(textOf(name));
    const bool isNew = !groups_.contains(groupName);
    if (frame.number < 1 || frame.number > kMostMembers || (isNew && groups_.size() >= kMostGroups)) {
        peer.isFaulty = true;
        return;
    }
    Group& group = groups_[groupName];
    if (isNew)
        group.members.resize(static_cast<std::size_t>(frame.number));
    const auto place = static_cast<std::size_t>(frame.rank);
    const bool isTaken =
        std::ranges::any_of(group.early, [&](const Group::Early& early) { return early.from == frame.rank; });
    if (frame.rank < 0 || place >= group.members.size() || group.members[place] || isTaken ||
        frame.number != static_cast<std::int64_t>(group.members.size())) {
        peer.isFaulty = true;
        return;
    }
    peer.state = Peer::State::Joined;
    peer.group = groupName;
    peer.rank = frame.rank;
    group.members[place] = &peer;
    ++group.joined;
    for (const Group::Early& early : group.early)
        queue(peer, early.message, group.mostQueued());
    if (group.joined == static_cast<int>(group.members.size()))
        group.early.clear();
}

void RankHub::Traffic::passOn(const Peer& from, const Message& message)
{
    Group& group = groups_.at(from.group);
    for (Peer* peer : group.members)
        if (peer && peer != &from)
            queue(*peer, message, group.mostQueued());
    if (group.joined == static_cast<int>(group.members.size()))
        return;
    group.earlyBytes += message->size();
    if (group.earlyBytes <= group.mostQueued())
        group.early.push_back({from.rank, message});
}

/// \param most  bytes that may wait for the peer
void RankHub::Traffic::queue(Peer& peer, const Message& message, std::size_t most)
{
    peer.queued += message->size();
    peer.output.push_back(message);
    if (peer.queued > most)
        peer.isFaulty = true; // takes no frames
    else if (peer.output.size() == 1)
        write(peer);
}

void RankHub::Traffic::write(Peer& peer)
{
    while (!peer.output.empty()) {
        const ByteList& first = *peer.output.front();
        const ssize_t written =
            ::send(peer.socket.get(), first.data() + peer.sent, first.size() - peer.sent, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0) {
            peer.isFaulty = true;
            return;
        }
        peer.sent += static_cast<std::size_t>(written);
        if (peer.sent == first.size()) {
            peer.queued -= first.size();
            peer.sent = 0;
            peer.output.pop_front();
        }
    }
}

/// Disconnects peers that are faulty or have left, and notifies the others. Notifying may reveal more faulty
/// peers.
void RankHub::Traffic::dropFaulty()
{
    for (auto peer = peers_.begin(); peer != peers_.end();) {
        if (!peer->isFaulty) {
            ++peer;
            continue;
        }
        if (peer->state == Peer::State::Joined) {
            const auto group = groups_.find(peer->group);
            group->second.members[static_cast<std::size_t>(peer->rank)] = nullptr;
            passOn(*peer, messageOf({.kind = FrameKind::Left, .rank = peer->rank}));
            if (group->second.isOver())
                groups_.erase(group);
        }
        peers_.erase(peer);
        peer = peers_.begin();
    }
}

RankHub::RankHub() : listener_(listenAnywhere()), end_(eventfd(0, EFD_CLOEXEC))
{
    address_ = {.hosts = hostsHere(), .port = portOf(listener_), .secret = randomText()};
    traffic_ = std::make_unique<Traffic>(address_.secret, listener_, end_);
    thread_ = std::jthread([this] { traffic_->run(); });
}

RankHub::~RankHub()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(end_.get(), &one, sizeof(one));
    thread_.join();
}

} // namespace tilescope::rendezvous
