#pragma once

#include "core/model/rank_seat.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tilescope::engine {

/// Where the ranks of a group meet: a slot of bytes per rank, and a barrier. On one host it is shared memory, on several a
/// connection to the hub.
///
/// There are two sets of slots that are used in turn, so that a rank may fill its next slot while others still read the
/// current ones. Waiting ranks sleep. One thread at a time; only leave() may be called from any thread.
class Board {
public:
    static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;
    static constexpr int kMostRanks = 64;

    /// Bytes of this rank's slot, from `first`.
    struct Filled {
        std::size_t first = 0;
        std::size_t bytes = 0;
    };

    /// Opens the board of the meeting. Waits for nobody.
    /// \throws Error (Environment)  there is no shared memory, or the hub cannot be reached
    static std::unique_ptr<Board> open(const RankSeat& seat);
    virtual ~Board() = default;
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    /// Waits for all ranks of the meeting; first of all.
    /// \throws LostRank  like meet()
    void begin();
    /// Switches to the other set of slots.
    void turn() { ++turn_; }
    /// The current slot of a rank, kSlotBytes long.
    std::byte* slot(int rank) { return slot(rank, turn_ % 2); }

    /// Waits until every rank has called it as often as this one. What each rank has filled since its last call is visible
    /// to all ranks afterwards.
    /// \param doing    the collective in progress, for the message
    /// \param filled   what this rank has filled; 0 bytes: nothing
    /// \throws LostRank  a rank has left, or does not arrive within the seat's patience; this rank leaves too
    void meet(const std::function<std::string()>& doing, Filled filled);
    void leave();

    /// Announces the collective that this rank has started last; for latecomers().
    virtual void announce(std::int64_t sequence) = 0;
    /// The ranks that have not started a collective: `rank 1`; empty if all have.
    /// \param hasLeft  becomes true if one of them has left
    virtual std::string latecomers(std::int64_t sequence, bool& hasLeft) = 0;

protected:
    explicit Board(const RankSeat& seat) : seat_(seat) {}

    const RankSeat& seat() const { return seat_; }
    std::uint64_t set() const { return turn_ % 2; }
    /// The ranks whose `count` is below `least`: `ranks 0, 2`; empty if there are none.
    std::string below(std::int64_t least, const std::function<std::int64_t(int)>& count, bool& hasLeft) const;

private:
    virtual std::byte* slot(int rank, std::uint64_t set) = 0;
    /// Tells the others that this rank has arrived.
    virtual void arrive(std::int64_t round, Filled filled) = 0;
    /// How often a rank has arrived.
    virtual std::int64_t roundsOf(int rank) const = 0;
    virtual bool hasLeft(int rank) const = 0;
    /// A number that changes with the news of other ranks, if they come by themselves.
    virtual std::uint32_t news() const { return 0; }
    /// Waits until there are others than `known`, or so long.
    virtual void waitForNews(std::uint32_t known, std::chrono::milliseconds most) = 0;
    /// Every rank has met: no other process needs the meeting's name.
    virtual void allMet() {}
    /// Tells the others that this rank leaves, once. Any thread.
    virtual void sayGoodbye() = 0;

    const RankSeat seat_;
    std::int64_t rounds_ = 0; ///< calls of meet()
    std::uint64_t turn_ = 0;
    std::atomic<bool> left_{false};
};

} // namespace tilescope::engine
