#include "core/rendezvous/rank_hub.h"

#include "core/base/error.h"
#include "core/rendezvous/connection.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace tilescope::rendezvous {

using namespace std::chrono_literals;

namespace {

constexpr auto kLong = 10min; ///< a busy machine changes no verdict

/// A rank of a group.
struct Rank {
    Rank(const RankHub& hub, int rank, int size, std::string_view group = "point 1")
        : connection(hub.address())
    {
        connection.send({.kind = FrameKind::Join, .rank = rank, .number = size},
                        std::as_bytes(std::span(group)));
    }

    void arrive(std::int64_t round, std::string_view content = {})
    {
        connection.send({.kind = FrameKind::Arrived, .number = round}, std::as_bytes(std::span(content)));
    }
    /// `Arrived 1 from 0: text`; empty if the hub has ended the connection.
    std::string next()
    {
        const std::optional<Frame> frame = connection.receive(kLong);
        if (!frame)
            return {};
        std::string content(frame->bytes, '\0');
        connection.receiveBytes(std::as_writable_bytes(std::span(content)));
        constexpr const char* kWords[] = {"Join", "Arrived", "Announced", "Left", "Clock"};
        return std::string(kWords[static_cast<int>(frame->kind)]) + " " + std::to_string(frame->number) +
               " from " + std::to_string(frame->rank) + ": " + content;
    }
    /// Whether the hub still serves it.
    bool isServed()
    {
        connection.send({.kind = FrameKind::Clock});
        return next().starts_with("Clock ");
    }

    Connection connection;
};

/// A stranger's connection, on which it sends any bytes.
class Stranger {
public:
    explicit Stranger(const RankHub& hub) : socket_(::socket(AF_INET, SOCK_STREAM, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(hub.address().port));
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    void send(std::string_view bytes)
    {
        [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /// What the hub answers before it ends the connection.
    std::string untilTheEnd()
    {
        std::string all;
        char buffer[1024];
        for (;;) {
            const ssize_t got = recv(socket_.get(), buffer, sizeof(buffer), 0);
            if (got <= 0)
                return all;
            all.append(buffer, static_cast<std::size_t>(got));
        }
    }

private:
    FileDescriptor socket_;
};

} // namespace

TEST(RankHub, PassesFramesOnInOrderWithTheirSender)
{
    const RankHub hub;
    Rank zero(hub, 0, 3);
    zero.arrive(1, "before the others joined");
    Rank one(hub, 1, 3);
    EXPECT_EQ(one.next(), "Arrived 1 from 0: before the others joined");
    one.connection.send({.kind = FrameKind::Announced, .rank = 2, .number = 9}); // not its number
    EXPECT_EQ(zero.next(), "Announced 9 from 1: ");
    Rank two(hub, 2, 3);
    two.arrive(1, std::string(kMostFrameBytes, 'x'));
    two.arrive(2);
    EXPECT_EQ(zero.next(), "Arrived 1 from 2: " + std::string(kMostFrameBytes, 'x'));
    EXPECT_EQ(zero.next(), "Arrived 2 from 2: ");
    EXPECT_EQ(two.next(), "Arrived 1 from 0: before the others joined");
    EXPECT_EQ(two.next(), "Announced 9 from 1: ");
}

TEST(RankHub, SaysWhoHasLeft)
{
    const RankHub hub;
    Rank zero(hub, 0, 3);
    {
        Rank one(hub, 1, 3);
        one.arrive(1);
    }
    EXPECT_EQ(zero.next(), "Arrived 1 from 1: ");
    EXPECT_EQ(zero.next(), "Left 0 from 1: ");
    Rank two(hub, 2, 3);
    EXPECT_EQ(two.next(), "Arrived 1 from 1: ");
    EXPECT_EQ(two.next(), "Left 0 from 1: ") << "a rank that joins later learns it too";
}

TEST(RankHub, KeepsGroupsApart)
{
    const RankHub hub;
    Rank zero(hub, 0, 2, "row 0");
    Rank other(hub, 0, 2, "row 1");
    Rank one(hub, 1, 2, "row 0");
    Rank otherOne(hub, 1, 2, "row 1");
    zero.arrive(1, "row 0");
    other.arrive(1, "row 1");
    EXPECT_EQ(one.next(), "Arrived 1 from 0: row 0");
    EXPECT_EQ(otherOne.next(), "Arrived 1 from 0: row 1");
}

TEST(RankHub, RefusesWhoCannotHaveThePlace)
{
    const RankHub hub;
    Rank zero(hub, 0, 2);
    EXPECT_TRUE(zero.isServed());
    EXPECT_FALSE(Rank(hub, 0, 2).isServed()) << "taken";
    EXPECT_FALSE(Rank(hub, 2, 2).isServed()) << "no such place";
    EXPECT_FALSE(Rank(hub, -1, 2).isServed());
    EXPECT_FALSE(Rank(hub, 1, 3).isServed()) << "another size";
    EXPECT_FALSE(Rank(hub, 0, 65, "large").isServed());
    EXPECT_FALSE(Rank(hub, 0, 0, "empty").isServed());
    EXPECT_TRUE(Rank(hub, 1, 2).isServed());
}

TEST(RankHub, DisconnectsWhoSendsAnythingElse)
{
    const RankHub hub;
    Rank zero(hub, 0, 2);
    {
        Rank one(hub, 1, 2);
        one.connection.send({.kind = FrameKind::Left});
        EXPECT_FALSE(one.isServed());
    }
    EXPECT_EQ(zero.next(), "Left 0 from 1: ");
    Connection before(hub.address());
    before.send({.kind = FrameKind::Arrived, .number = 1}); // it has not joined
    EXPECT_FALSE(before.receive(kLong));
    EXPECT_TRUE(before.hasEnded());
    EXPECT_TRUE(zero.isServed());
}

TEST(RankHub, LetsNoStrangerIn)
{
    const RankHub hub;
    HubAddress guessed = hub.address();
    guessed.secret = randomText();
    EXPECT_THROW(Connection{guessed}, Error) << "the hub does not prove that it knows this secret";

    Stranger web(hub);
    web.send("GET / HTTP/1.1\r\nHost: rank0\r\nAccept: text/html\r\n\r\n");
    EXPECT_EQ(web.untilTheEnd(), "");
    Stranger liar(hub);
    liar.send(std::string(kGreeting) + std::string(kNonceBytes, '0') + std::string(kProofBytes, '0') +
              std::string(1000, 'x'));
    const std::string answer = liar.untilTheEnd();
    EXPECT_LE(answer.size(), kNonceBytes + kProofBytes);
    EXPECT_EQ(answer.find(hub.address().secret), std::string::npos);

    const auto seed = std::random_device()();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 50; ++i) {
        Stranger stranger(hub);
        std::string bytes(kGreeting.substr(0, random() % (kGreeting.size() + 1)));
        for (int byte = 0; byte < 300; ++byte)
            bytes += static_cast<char>(random());
        stranger.send(bytes);
    }
    EXPECT_TRUE(Rank(hub, 0, 2).isServed());
}

TEST(RankHub, DisconnectsARankThatTakesNoFrames)
{
    const RankHub hub;
    Rank zero(hub, 0, 2);
    Rank one(hub, 1, 2);
    // More than the hub keeps for a rank and the system buffers.
    const std::string slot(kMostFrameBytes, 'x');
    std::optional<Frame> left;
    for (int i = 0; i < 1000 && !left; ++i) {
        zero.arrive(i, slot);
        left = zero.connection.receive(0ms);
    }
    ASSERT_TRUE(left);
    EXPECT_EQ(left->kind, FrameKind::Left);
    EXPECT_TRUE(zero.isServed());
    while (!one.next().empty()) {
    }
    EXPECT_TRUE(one.connection.hasEnded());
}

} // namespace tilescope::rendezvous
