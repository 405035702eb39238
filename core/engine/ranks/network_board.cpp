#include "core/engine/ranks/network_board.h"

#include <span>
#include <string_view>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;
using rendezvous::Frame;
using rendezvous::FrameKind;

static_assert(Board::kSlotBytes == rendezvous::kMostFrameBytes &&
              Board::kMostRanks == rendezvous::kMostMembers);

/// Least interval between announcements, so that they cost little time within a step.
constexpr std::chrono::milliseconds kAnnouncements{20};

} // namespace

NetworkBoard::NetworkBoard(const RankInfo& rankInfo)
    : Board(rankInfo), connection_(rankInfo.hub), places_(static_cast<std::size_t>(rankInfo.size)),
      slots_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(2 * rankInfo.size) *
                                                         kSlotBytes))
{
    connection_.send({.kind = FrameKind::Join, .rank = rankInfo.rank, .number = rankInfo.size},
                     std::as_bytes(std::span(rankInfo.group)));
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
    placeOf(rankInfo().rank).rounds = round;
    const std::span content(slot(rankInfo().rank, set()) + filled.first, filled.bytes);
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
    placeOf(rankInfo().rank).started = sequence;
    if (Clock::now() - announcedAt_ >= kAnnouncements)
        sendAnnouncement();
}

void NetworkBoard::sendAnnouncement()
{
    const std::int64_t last = placeOf(rankInfo().rank).started;
    if (last == announced_)
        return;
    connection_.send({.kind = FrameKind::Announced, .number = last});
    announced_ = last;
    announcedAt_ = Clock::now();
}

std::string NetworkBoard::missingRanks(std::int64_t sequence, bool& hasLeft)
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
    if (frame->rank < 0 || frame->rank >= rankInfo().size || frame->rank == rankInfo().rank) {
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

void NetworkBoard::announceExit()
{
    connection_.shutDown();
}

} // namespace tilescope::engine
