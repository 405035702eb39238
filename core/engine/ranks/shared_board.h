#pragma once

#include "core/engine/ranks/board.h"

namespace tilescope::engine {

/// The board of the ranks of one host, in the shared memory of their supervisor.
class SharedBoard final : public Board {
public:
    /// Opens the memory of the rankInfo.
    /// \throws Error (Environment)  it cannot be opened, or there is not enough memory
    explicit SharedBoard(const RankInfo& rankInfo);
    /// Leaves the group.
    ~SharedBoard() override;

    void announce(std::int64_t sequence) override;
    std::string missingRanks(std::int64_t sequence, bool& hasLeft) override;

private:
    struct Header;
    struct Place;

    std::byte* slot(int rank, std::uint64_t set) override;
    void arrive(std::int64_t round, Filled filled) override;
    std::int64_t roundsOf(int rank) const override;
    bool hasLeft(int rank) const override;
    std::uint32_t news() const override;
    void waitForNews(std::uint32_t known, std::chrono::milliseconds most) override;
    void announceExit() override;

    Header& header() const;
    Place& place(int rank) const;
    void ring();

    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace tilescope::engine
