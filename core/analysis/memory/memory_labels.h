#pragma once

#include "core/analysis/memory/block_lives.h"
#include "core/model/memory.h"
#include "core/model/strings.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// What an allocation of a step was for.
struct AllocationUse {
    MemoryCategory category = MemoryCategory::Unattributed;
    std::optional<std::size_t> saved = {}; ///< index of the saved tensor with this storage
};

/// What each allocation of a reference step was for; default values for other events.
///
/// A block belongs to the tensors that `held` and `saved` record at its address during its life; if there are
/// several, a parameter, gradient, optimizer state, input or workspace takes precedence over an activation.
/// A block of a range without such a tensor is temporary; one outside any range is unattributed.
/// \param events  of one device, in time order
/// O((n + h) log n).
std::vector<AllocationUse> allocationUses(std::span<const AllocEvent> events,
                                          std::span<const HeldStorage> held,
                                          std::span<const SavedTensor> saved);

/// Assigns a category to each allocation event of the traced steps, as the events arrive. A step repeats the allocations
/// of the reference step: the k-th allocation of a size in a range has the category of the k-th such allocation of the
/// reference step. During set-up, an allocation belongs to the tensor that its range names (setUpTensor).
///
/// One thread at a time: learn() and begin() before the first label().
class MemoryLabels {
public:
    explicit MemoryLabels(StringTable& strings);

    /// Takes the uses of allocations from the reference step.
    void learn(const MemoryFacts& facts);
    /// Uses the blocks that were allocated when the trace began.
    void begin(std::span<const MemoryBlock> blocks);
    /// Fills `category`, and `op` if the event has none but its reference allocation had one. Events must be
    /// in time order, also across calls.
    void label(std::span<AllocEvent> events);

    /// The saved tensors of the reference step, with the times at which the first traced step allocated and
    /// freed them.
    std::vector<SavedTensor> savedTensors() const;
    /// Allocations within traced steps that the reference step did not make.
    std::int64_t unmatched() const { return unmatched_; }

private:
    struct Key {
        StringId path;
        std::int64_t bytes;
        bool inStep;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    struct Known {
        AllocationUse use;
        OpId op;
    };
    struct Queue {
        std::vector<Known> allocations;
        std::size_t next = 0;
        std::int32_t step = kNoStep; ///< step in which `next` counts allocations
    };
    struct Block {
        MemoryCategory category = MemoryCategory::Unattributed;
        std::optional<std::size_t> saved = {};
    };

    Block allocated(AllocEvent& event);
    void freed(AllocEvent& event, const std::optional<Block>& closed);
    /// The category of an allocation that the reference step did not make, from its range.
    MemoryCategory categoryOf(StringId path);
    StringId wordFor(MemoryCategory category);

    StringTable& strings_;
    std::unordered_map<MemoryCategory, StringId> words_;
    std::unordered_map<StringId, MemoryCategory> ofPaths_;
    std::unordered_map<Key, Queue, KeyHash> queues_;
    BlockLives<Block> live_;
    std::unordered_map<std::uint64_t, MemoryCategory>
        freed_; ///< by address: blocks whose free is requested but not complete
    std::vector<SavedTensor> saved_;
    std::int64_t unmatched_ = 0;
};

} // namespace tilescope::analysis
