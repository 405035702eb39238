#pragma once

#include "core/engine/ranks/board.h"
#include "core/rendezvous/connection.h"

#include <vector>

namespace tilescope::engine {

/// The board of ranks on several hosts. Each rank has a copy of all slots. When a rank arrives at the
/// barrier, it sends the bytes that it has filled to the others through the hub.
class NetworkBoard final : public Board {
public:
    /// \throws Error (Environment)  the hub cannot be reached
    explicit NetworkBoard(const RankInfo& rankInfo);
    /// Leaves the group.
    ~NetworkBoard() override;

    void announce(std::int64_t sequence) override;
    std::string missingRanks(std::int64_t sequence, bool& hasLeft) override;

private:
    struct Place {
        std::int64_t rounds = 0;
        std::int64_t started = 0;
        bool hasLeft = false;
    };

    std::byte* slot(int rank, std::uint64_t set) override;
    void arrive(std::int64_t round, Filled filled) override;
    std::int64_t roundsOf(int rank) const override;
    bool hasLeft(int rank) const override;
    void waitForNews(std::uint32_t known, std::chrono::milliseconds most) override;
    void announceExit() override;

    Place& placeOf(int rank) { return places_[static_cast<std::size_t>(rank)]; }
    void sendAnnouncement();
    /// \return  false if no frame arrived within `most`
    bool takeFrame(std::chrono::milliseconds most);
    void endConnection();

    rendezvous::Connection connection_;
    std::vector<Place> places_;
    std::unique_ptr<std::byte[]> slots_;                     ///< uses physical memory only for slots in use
    std::int64_t announced_ = 0;                             ///< the last collective announced to the others
    std::chrono::steady_clock::time_point announcedAt_ = {}; ///< when it was announced
};

} // namespace tilescope::engine
