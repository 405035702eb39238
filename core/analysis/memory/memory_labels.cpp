#include "core/analysis/memory/memory_labels.h"

#include "core/model/set_up_path.h"
#include "core/model/text.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

namespace {

/// The life of one block among the events.
struct Life {
    std::size_t event = 0; ///< its allocation
    Timestamp begin{};
    Timestamp end = Timestamp::max();
};

using LivesByAddress = std::unordered_map<std::uint64_t, std::vector<Life>>;

LivesByAddress livesOf(std::span<const AllocEvent> events)
{
    LivesByAddress lives;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocEvent& event = events[i];
        if (event.action == AllocAction::Alloc) {
            lives[event.address].push_back({.event = i, .begin = event.time});
        } else if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted) {
            const auto found = lives.find(event.address);
            if (found != lives.end() && found->second.back().end == Timestamp::max())
                found->second.back().end = event.time;
        }
    }
    return lives;
}

/// The block that lay at an address at an instant.
const Life* lifeAt(const LivesByAddress& lives, std::uint64_t address, Timestamp time)
{
    const auto found = lives.find(address);
    if (found == lives.end())
        return nullptr;
    const std::vector<Life>& all = found->second;
    const auto after = std::ranges::upper_bound(all, time, {}, &Life::begin);
    if (after == all.begin() || std::prev(after)->end <= time)
        return nullptr;
    return &*std::prev(after);
}

/// Who counts a block that several hold: the lower.
int rankOf(MemoryCategory category)
{
    static constexpr std::array order{MemoryCategory::Parameters, MemoryCategory::Gradients,
                                      MemoryCategory::Optimizer,  MemoryCategory::Inputs,
                                      MemoryCategory::Workspace,  MemoryCategory::Activations};
    return static_cast<int>(std::ranges::find(order, category) - order.begin());
}

} // namespace

std::vector<AllocationUse> allocationUses(std::span<const AllocEvent> events,
                                          std::span<const HeldStorage> held,
                                          std::span<const SavedTensor> saved)
{
    std::vector<AllocationUse> uses(events.size());
    for (std::size_t i = 0; i < events.size(); ++i)
        if (events[i].action == AllocAction::Alloc && events[i].path)
            uses[i].category = MemoryCategory::Temporaries;
    const LivesByAddress lives = livesOf(events);
    const auto claim = [&](std::uint64_t address, Timestamp time, MemoryCategory category) -> AllocationUse* {
        const Life* life = lifeAt(lives, address, time);
        if (!life)
            return nullptr;
        AllocationUse& use = uses[life->event];
        if (rankOf(category) < rankOf(use.category))
            use.category = category;
        return &use;
    };
    for (const HeldStorage& storage : held)
        claim(storage.address, storage.time, storage.category);
    for (std::size_t i = 0; i < saved.size(); ++i)
        if (AllocationUse* use = claim(saved[i].address, saved[i].time, saved[i].category);
            use && !use->saved)
            use->saved = i;
    return uses;
}

std::size_t MemoryLabels::KeyHash::operator()(const Key& key) const noexcept
{
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    const std::uint64_t path = (std::uint64_t{key.path.value} << 1) | (key.inStep ? 1U : 0U);
    return (path * kOdd) ^ (static_cast<std::uint64_t>(key.bytes) * kOdd >> 17);
}

MemoryLabels::MemoryLabels(StringTable& strings) : strings_(strings) {}

void MemoryLabels::learn(const MemoryFacts& facts)
{
    const std::vector<AllocationUse> uses = allocationUses(facts.rehearsed, facts.held, facts.saved);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const AllocEvent& event = facts.rehearsed[i];
        if (event.action == AllocAction::Alloc)
            queues_[{event.path, event.bytes, event.step != kNoStep}].allocations.push_back(
                {uses[i], event.op});
    }
    saved_ = facts.saved;
}

void MemoryLabels::begin(std::span<const MemoryBlock> blocks)
{
    for (const MemoryBlock& block : blocks)
        if (!block.isFree)
            live_[block.address] = {.category = block.category};
}

void MemoryLabels::label(std::span<AllocEvent> events)
{
    for (AllocEvent& event : events) {
        if (event.action == AllocAction::Alloc)
            allocated(event);
        else if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted)
            freed(event);
    }
}

void MemoryLabels::allocated(AllocEvent& event)
{
    const bool inStep = event.step != kNoStep;
    Block block{.category = categoryOf(event.path)};
    const auto found = queues_.find({event.path, event.bytes, inStep});
    Queue* queue = found == queues_.end() ? nullptr : &found->second;
    if (queue && queue->step != event.step) {
        queue->step = event.step;
        queue->next = 0;
    }
    if (queue && queue->next < queue->allocations.size()) {
        const Known& known = queue->allocations[queue->next++];
        block.category = known.use.category;
        block.saved = known.use.saved;
        if (!event.op)
            event.op = known.op;
    } else if (inStep) {
        ++unmatched_;
    }
    if (block.saved) {
        SavedTensor& tensor = saved_[*block.saved];
        // Later steps do the same again.
        if (tensor.from)
            block.saved.reset();
        else
            tensor.from = event.time;
    }
    event.category = wordFor(block.category);
    live_[event.address] = block;
}

MemoryCategory MemoryLabels::categoryOf(StringId path)
{
    if (!path)
        return MemoryCategory::Unattributed;
    const auto [known, isNew] = ofPaths_.try_emplace(path, MemoryCategory::Temporaries);
    if (isNew)
        if (const auto made = setUpTensor(strings_.text(path)))
            known->second = made->category;
    return known->second;
}

void MemoryLabels::freed(AllocEvent& event)
{
    const auto found = live_.find(event.address);
    if (found == live_.end()) {
        event.category = wordFor(MemoryCategory::Unattributed);
        return;
    }
    Block& block = found->second;
    event.category = wordFor(block.category);
    if (block.saved && !block.isFreed)
        saved_[*block.saved].to = event.time;
    // CUDA says it twice: when the program gave the block back, and when the device is done with it.
    if (event.action == AllocAction::FreeRequested)
        block.isFreed = true;
    else
        live_.erase(found);
}

std::vector<SavedTensor> MemoryLabels::savedTensors() const
{
    std::vector<SavedTensor> saved = saved_;
    // The allocation may have been tied to any of those that share a storage.
    std::unordered_map<std::uint64_t, std::pair<std::optional<Timestamp>, std::optional<Timestamp>>> lives;
    for (const SavedTensor& tensor : saved)
        if (tensor.from)
            lives.try_emplace(tensor.address, tensor.from, tensor.to);
    for (SavedTensor& tensor : saved)
        if (const auto life = lives.find(tensor.address); !tensor.from && life != lives.end())
            std::tie(tensor.from, tensor.to) = life->second;
    return saved;
}

StringId MemoryLabels::wordFor(MemoryCategory category)
{
    StringId& word = words_[category];
    if (!word)
        word = strings_.intern(wordOf(category));
    return word;
}

} // namespace tilescope::analysis
