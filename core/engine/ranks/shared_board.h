#pragma once

#include "core/model/rank_seat.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tilescope::engine {

/// Shared memory in which the ranks of one host meet: a slot of bytes per rank, and a barrier.
///
/// The memory has two sets of slots that are used in turn, so that a rank may fill its next slot while others
/// still read the current ones. Waiting ranks sleep. One thread at a time; only leave() may be called from any thread.
class SharedBoard {
public:
    static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;
    static constexpr int kMostRanks = 64;

    /// Opens the memory of the meeting, which the first rank creates. Waits for nobody.
    /// \throws Error (Environment)  there is no shared memory
    explicit SharedBoard(const RankSeat& seat);
    /// Leaves the group.
    ~SharedBoard();
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;

    /// Removes the memory's name if it still has one; for a group whose ranks did not all arrive.
    static void forget(const std::string& meeting);

    /// Switches to the other set of slots.
    void turn() { ++turn_; }
    /// The current slot of a rank, kSlotBytes long.
    std::byte* slot(int rank) const;

    /// Waits until every rank has called it as often as this one. Writes to slots before the call are visible to
    /// all ranks after it.
    /// \param doing    the collective in progress, for the message
    /// \throws LostRank  a rank has left, or does not arrive within the seat's patience; this rank leaves too
    void meet(const std::function<std::string()>& doing);
    void leave();
    /// Announces the collective that this rank has started last; for latecomers().
    void announce(std::int64_t sequence);
    /// The ranks that have not started a collective: `rank 1`; empty if all have.
    /// \param hasLeft  becomes true if one of them has left
    std::string latecomers(std::int64_t sequence, bool& hasLeft) const;

private:
    struct Header;
    struct Place;

    Place& place(int rank) const;
    /// The ranks whose `count` is below `least`: `ranks 0, 2`; empty if there are none.
    template <class Count> std::string below(std::int64_t least, const Count& count, bool& hasLeft) const;

    const RankSeat seat_;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::int64_t rounds_ = 0; ///< calls of meet()
    std::uint64_t turn_ = 0;
    std::atomic<bool> left_{false};
};

} // namespace tilescope::engine
