#pragma once

#include "core/model/rank_info.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tilescope::engine {

/// Where the ranks of a group exchange small data: a slot of bytes per rank, and a barrier. On one host, the
/// board is shared memory; on several hosts, a connection to the hub.
///
/// Two sets of slots alternate, so that a rank may fill its next slot while others still read the current
/// ones. Waiting ranks sleep. One thread at a time; only leave() may be called from any thread.
class Board {
public:
    static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;
    static constexpr int kMostRanks = 64;

    /// The bytes that this rank has filled in its slot, from `first` on.
    struct Filled {
        std::size_t first = 0;
        std::size_t bytes = 0;
    };

    /// Opens the board of the group. Does not wait for other ranks.
    /// \throws Error (Environment)  there is no shared memory, or the hub cannot be reached
    static std::unique_ptr<Board> open(const RankInfo& rankInfo);
    virtual ~Board() = default;
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    /// Waits for all ranks of the group. Call it before any other member.
    /// \throws LostRank  like meet()
    void begin();
    /// Switches to the other set of slots.
    void turn() { ++turn_; }
    /// The current slot of a rank, kSlotBytes long.
    std::byte* slot(int rank) { return slot(rank, turn_ % 2); }

    /// The barrier: waits until every rank has called it as often as this one. Afterwards, all ranks see the bytes
    /// that each rank has filled since its previous call.
    /// \param doing    names the collective in progress, for error messages
    /// \param filled   the bytes that this rank has filled; 0 bytes: nothing
    /// \throws LostRank  a rank has left, or does not arrive within the timeout of its RankInfo; this rank then leaves, too
    void meet(const std::function<std::string()>& doing, Filled filled);
    void leave();

    /// Announces the last collective that this rank has started; for missingRanks().
    virtual void announce(std::int64_t sequence) = 0;
    /// The ranks that have not started a collective: `rank 1`; empty if all have started it.
    /// \param hasLeft  set to true if one of these ranks has left
    virtual std::string missingRanks(std::int64_t sequence, bool& hasLeft) = 0;

protected:
    explicit Board(const RankInfo& rankInfo) : rankInfo_(rankInfo) {}

    const RankInfo& rankInfo() const { return rankInfo_; }
    std::uint64_t set() const { return turn_ % 2; }
    /// The ranks whose `count` is below `least`: `ranks 0, 2`; empty if there are none.
    std::string below(std::int64_t least, const std::function<std::int64_t(int)>& count, bool& hasLeft) const;

private:
    virtual std::byte* slot(int rank, std::uint64_t set) = 0;
    /// Tells the other ranks that this rank has arrived at the barrier.
    virtual void arrive(std::int64_t round, Filled filled) = 0;
    /// How many times a rank has arrived.
    virtual std::int64_t roundsOf(int rank) const = 0;
    virtual bool hasLeft(int rank) const = 0;
    /// A number that changes whenever another rank arrives or leaves; constant if the board must be polled.
    virtual std::uint32_t news() const { return 0; }
    /// Waits until news() differs from `known`, but at most `most`.
    virtual void waitForNews(std::uint32_t known, std::chrono::milliseconds most) = 0;
    /// Tells the other ranks, once, that this rank leaves. Any thread.
    virtual void announceExit() = 0;

    const RankInfo rankInfo_;
    std::int64_t rounds_ = 0; ///< calls of meet()
    std::uint64_t turn_ = 0;
    std::atomic<bool> left_{false};
};

} // namespace tilescope::engine
