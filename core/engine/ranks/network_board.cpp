#include "core/engine/ranks/network_board.h"

#include <span>
#include <string_view>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;
using meeting::Frame;
using meeting::FrameKind;

static_assert(Board::kSlotBytes == meeting::kMostFrameBytes && Board::kMostRanks == meeting::kMostMembers);

/// Least interval between announcements, so that they cost little time within a step.
constexpr std::chrono::milliseconds kAnnouncements{20};

} // namespace

NetworkBoard::NetworkBoard(const RankSeat& seat)
    : Board(seat), connection_(seat.hub), places_(static_cast<std::size_t>(seat.size)),
      slots_(
          std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(2 * seat.size) * kSlotBytes))
{
    connection_.send({.kind = FrameKind::Join, .rank = seat.rank, .number = seat.size},
                     std::as_bytes(std::span(seat.meeting)));
}

NetworkBoard::~NetworkBoard()
{
    leave();
}

std::byte* NetworkBoard::slot(int rank, std::uint64_t set)
{
    const std::size_t index = set * places_.size() + static_cast<std::size_t>(rank);
    return slots_.get() + index * kSlotBytes;
}

void NetworkBoard::arrive(std::int64_t round, Filled filled)
{
    sendAnnouncement();
    placeOf(seat().rank).rounds = round;
    const std::span content(slot(seat().rank, set()) + filled.first, filled.bytes);
    connection_.send({.kind = FrameKind::Arrived,
                      .turn = static_cast<std::uint32_t>(set()),
                      .first = static_cast<std::uint32_t>(filled.first),
                      .number = round},
                     content);
}

std::int64_t NetworkBoard::roundsOf(int rank) const
{
    return places_[static_cast<std::size_t>(rank)].rounds;
}

bool NetworkBoard::hasLeft(int rank) const
{
    return places_[static_cast<std::size_t>(rank)].hasLeft;
}

void NetworkBoard::announce(std::int64_t sequence)
{
    placeOf(seat().rank).started = sequence;
    if (Clock::now() - announcedAt_ >= kAnnouncements)
        sendAnnouncement();
}

void NetworkBoard::sendAnnouncement()
{
    const std::int64_t last = placeOf(seat().rank).started;
    if (last == announced_)
        return;
    connection_.send({.kind = FrameKind::Announced, .number = last});
    announced_ = last;
    announcedAt_ = Clock::now();
}

std::string NetworkBoard::latecomers(std::int64_t sequence, bool& hasLeft)
{
    sendAnnouncement();
    while (takeFrame(std::chrono::milliseconds(0))) {
    }
    return below(
        sequence, [this](int rank) { return placeOf(rank).started; }, hasLeft);
}

void NetworkBoard::waitForNews(std::uint32_t /*known*/, std::chrono::milliseconds most)
{
    takeFrame(most);
}

bool NetworkBoard::takeFrame(std::chrono::milliseconds most)
{
    const std::optional<Frame> frame = connection_.receive(most);
    if (connection_.hasEnded())
        endConnection();
    if (!frame)
        return false;
    if (frame->rank < 0 || frame->rank >= seat().size || frame->rank == seat().rank) {
        endConnection();
        return false;
    }
    Place& place = placeOf(frame->rank);
    switch (frame->kind) {
    case FrameKind::Arrived:
        if (!connection_.receiveBytes({slot(frame->rank, frame->turn) + frame->first, frame->bytes}))
            endConnection();
        else
            place.rounds = frame->number;
        break;
    case FrameKind::Announced:
        place.started = frame->number;
        break;
    case FrameKind::Left:
        place.hasLeft = true;
        break;
    case FrameKind::Join:
    case FrameKind::Clock:
        break;
    }
    return true;
}

/// Marks all other ranks as gone: without the hub, none can be reached.
void NetworkBoard::endConnection()
{
    for (Place& place : places_)
        place.hasLeft = true;
}

void NetworkBoard::sayGoodbye()
{
    connection_.shutDown();
}

} // namespace tilescope::engine
