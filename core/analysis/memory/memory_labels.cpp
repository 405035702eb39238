#include "core/analysis/memory/memory_labels.h"

#include "core/model/set_up_path.h"
#include "core/model/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

namespace tilescope::analysis {

namespace {

/// Which allocation had an address at an instant.
class AllocationsByAddress {
public:
    explicit AllocationsByAddress(std::span<const AllocEvent> events)
    {
        BlockLives<Life*> lives;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const AllocEvent& event = events[i];
            const auto closed = lives.apply(event, [&] {
                return &(lives_[{event.address, event.time}] = {.event = i});
            });
            if (closed && event.action != AllocAction::Alloc)
                (*closed)->end = event.time;
        }
    }

    std::optional<std::size_t> at(std::uint64_t address, Timestamp time) const
    {
        const auto after = lives_.upper_bound({address, time});
        if (after == lives_.begin())
            return {};
        const auto& [key, life] = *std::prev(after);
        return key.first == address && time < life.end ? std::optional(life.event) : std::nullopt;
    }

private:
    struct Life {
        std::size_t event = 0;
        Timestamp end = Timestamp::max();
    };
    std::map<std::pair<std::uint64_t, Timestamp>, Life> lives_; // by address and begin
};

/// Of several holders of a block, the one with the lowest rank determines its category.
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
    const AllocationsByAddress allocations(events);
    const auto claim = [&](std::uint64_t address, Timestamp time, MemoryCategory category) -> AllocationUse* {
        const auto allocation = allocations.at(address, time);
        if (!allocation)
            return nullptr;
        AllocationUse& use = uses[*allocation];
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
    const std::vector<AllocationUse> uses = allocationUses(facts.reference, facts.held, facts.saved);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const AllocEvent& event = facts.reference[i];
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
            live_.open(block.address, {.category = block.category});
}

void MemoryLabels::label(std::span<AllocEvent> events)
{
    for (AllocEvent& event : events) {
        const auto closed = live_.apply(event, [&] { return allocated(event); });
        if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted)
            freed(event, closed);
    }
}

MemoryLabels::Block MemoryLabels::allocated(AllocEvent& event)
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
        // Later steps repeat the allocations of the first one.
        if (tensor.from)
            block.saved.reset();
        else
            tensor.from = event.time;
    }
    event.category = wordFor(block.category);
    freed_.erase(event.address);
    return block;
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

void MemoryLabels::freed(AllocEvent& event, const std::optional<Block>& closed)
{
    const auto before = freed_.find(event.address);
    event.category = wordFor(closed                   ? closed->category
                             : before != freed_.end() ? before->second
                                                      : MemoryCategory::Unattributed);
    if (closed && closed->saved)
        saved_[*closed->saved].to = event.time;
    if (event.action == AllocAction::FreeCompleted)
        freed_.erase(event.address);
    else if (closed)
        freed_[event.address] = closed->category;
}

std::vector<SavedTensor> MemoryLabels::savedTensors() const
{
    std::vector<SavedTensor> saved = saved_;
    // The allocation may be linked to any of the tensors that share a storage.
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
