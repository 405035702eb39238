#pragma once

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
    std::optional<std::size_t> saved = {}; ///< number of the saved tensor whose storage it is
};

/// What each allocation of a rehearsed step was for; of events that are no allocation nothing.
///
/// A block is whose it was at any instant that `held` and `saved` tell of while it was alive: parameter,
/// gradient, optimizer state, input or workspace before activation. What a step made and nobody is known to
/// hold is temporary; what was made outside any range is not attributed.
/// \param events  of one device, in time order
/// O((n + h) log n).
std::vector<AllocationUse> allocationUses(std::span<const AllocEvent> events,
                                          std::span<const HeldStorage> held,
                                          std::span<const SavedTensor> saved);

/// Gives every allocation event of the traced steps its category, as the events come: a step allocates what
/// the rehearsed one did, so the k-th allocation of so many bytes in a range is for what the k-th was there.
/// What set-up allocates is for the tensor that its range names (setUpTensor).
///
/// One thread at a time: learn() and begin() before the first label().
class MemoryLabels {
public:
    explicit MemoryLabels(StringTable& strings);

    /// From the rehearsed step.
    void learn(const MemoryFacts& facts);
    /// From what was allocated when the trace began.
    void begin(std::span<const MemoryBlock> blocks);
    /// Fills `category`, and `op` where the event has none and the rehearsed one had. In time order, also
    /// from call to call.
    void label(std::span<AllocEvent> events);

    /// The saved tensors of the rehearsed step, with the times at which the first traced step made and freed
    /// them.
    std::vector<SavedTensor> savedTensors() const;
    /// Allocations within traced steps that the rehearsed step did not make.
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
        std::int32_t step = kNoStep; ///< that `next` counts in
    };
    struct Block {
        MemoryCategory category = MemoryCategory::Unattributed;
        std::optional<std::size_t> saved = {};
        bool isFreed = false; ///< its free was asked for
    };

    void allocated(AllocEvent& event);
    void freed(AllocEvent& event);
    /// What is asked for in a range and was not rehearsed.
    MemoryCategory categoryOf(StringId path);
    StringId wordFor(MemoryCategory category);

    StringTable& strings_;
    std::unordered_map<MemoryCategory, StringId> words_;
    std::unordered_map<StringId, MemoryCategory> ofPaths_;
    std::unordered_map<Key, Queue, KeyHash> queues_;
    std::unordered_map<std::uint64_t, Block> live_;
    std::vector<SavedTensor> saved_;
    std::int64_t unmatched_ = 0;
};

} // namespace tilescope::analysis
