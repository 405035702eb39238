#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tilescope::analysis {

/// Folds the allocation events of one device into the lives of its blocks.
///
/// An allocation opens a block at its address; the first free of that address closes it. CUDA records two
/// frees (requested and completed) and counts the memory as free from the first; a CPU allocator may record
/// only one of them. An allocation at the address of an open block closes that block too: its free was not
/// recorded. Other events, and frees of addresses without an open block, change nothing.
///
/// \tparam Block  what the caller keeps for each open block
/// One thread at a time. Memory grows with the number of open blocks only.
template <class Block> class BlockLives {
public:
    /// Applies the next event, in time order.
    /// \param make  called without arguments if the event opens a block; returns what to keep for it
    /// \return      what was kept for the block that the event closes; none if it closes none
    /// O(1) on average.
    template <class Make> std::optional<Block> apply(const AllocEvent& event, Make&& make)
    {
        const bool opens = event.action == AllocAction::Alloc;
        if (!opens && event.action != AllocAction::FreeRequested &&
            event.action != AllocAction::FreeCompleted)
            return {};
        std::optional<Block> closed;
        if (const auto found = open_.find(event.address); found != open_.end()) {
            closed = std::move(found->second);
            open_.erase(found);
        }
        if (opens)
            open_.emplace(event.address, make());
        return closed;
    }

    /// Opens a block that was allocated before the first event; replaces one at the same address.
    void open(std::uint64_t address, Block block) { open_.insert_or_assign(address, std::move(block)); }

    /// The open blocks by address, in no order.
    const std::unordered_map<std::uint64_t, Block>& all() const { return open_; }
    /// The open block at an address; null if there is none.
    const Block* find(std::uint64_t address) const
    {
        const auto found = open_.find(address);
        return found == open_.end() ? nullptr : &found->second;
    }

private:
    std::unordered_map<std::uint64_t, Block> open_;
};

} // namespace tilescope::analysis
