#include "core/exchange/import/allocation_assembly.h"

#include "core/analysis/memory/block_lives.h"
#include "core/analysis/memory/memory_labels.h"
#include "core/analysis/time/path_glob.h"
#include "core/model/process_address.h"
#include "core/model/set_up_path.h"
#include "core/model/text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kDataParallel = "/DistributedDataParallel";

bool isFree(const AllocEvent& event)
{
    return event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted;
}

/// Sizes of frees and totals of one process' CPU blocks, unless the events have them.
void followCpu(std::vector<AllocEvent>& events)
{
    if (std::ranges::none_of(events, [](const AllocEvent& event) { return event.allocated < 0; }))
        return;
    analysis::BlockLives<std::int64_t> blocks;
    std::int64_t allocated = 0;
    std::vector<AllocEvent> kept;
    kept.reserve(events.size());
    for (AllocEvent& event : events) {
        const auto closed = blocks.apply(event, [&] { return event.bytes; });
        if (isFree(event) && !closed)
            continue;
        allocated -= closed.value_or(0);
        if (event.action == AllocAction::Alloc)
            allocated += event.bytes;
        else if (closed)
            event.bytes = *closed;
        event.allocated = event.reserved = allocated;
        kept.push_back(event);
    }
    events = std::move(kept);
}

/// Assigns categories to the events of one process and device.
class Categories {
public:
    explicit Categories(StringTable& strings) : strings_(strings) {}

    void assign(std::vector<AllocEvent>& events, std::span<const ForeignHeld> held,
                std::span<const PhaseMark> phases)
    {
        std::vector<HeldStorage> storages;
        for (const ForeignHeld& each : held)
            storages.push_back(each.storage);
        uses_ = analysis::allocationUses(events, storages, {});
        inferFromPhases(events, phases);
        inferBuckets(events, phases);
        namePaths(events, storages);
        analysis::BlockLives<MemoryCategory> lives;
        std::map<std::uint64_t, MemoryCategory> freed; // whose completion is to come
        for (std::size_t i = 0; i < events.size(); ++i) {
            AllocEvent& event = events[i];
            const auto closed = lives.apply(event, [&] { return uses_[i].category; });
            if (event.action == AllocAction::Alloc) {
                event.category = word(uses_[i].category);
            } else if (closed) {
                event.category = word(*closed);
                freed[event.address] = *closed;
            } else if (const auto before = freed.find(event.address);
                       isFree(event) && before != freed.end()) {
                event.category = word(before->second);
                freed.erase(before);
            }
        }
    }

private:
    /// Blocks of one phase that are alive at its end become `category`.
    struct Pending {
        std::map<std::uint64_t, std::size_t> blocks; // event by address
    };

    void settle(Pending& pending, MemoryCategory category)
    {
        for (const auto& [address, index] : pending.blocks)
            if (uses_[index].category == MemoryCategory::Temporaries)
                uses_[index].category = category;
        pending.blocks.clear();
    }

    /// Whether a block may be a bucket of gradients: PyTorch's DistributedDataParallel allocates them when its second forward
    /// begins, outside of the modules in it.
    bool mayBeBucket(const AllocEvent& event) const
    {
        const std::string_view path = strings_.text(event.path);
        return path.ends_with(kDataParallel) || analysis::phaseOf(path).empty();
    }

    /// Activations and inputs that two optimizer steps did not free are buckets of gradients.
    void inferBuckets(std::span<const AllocEvent> events, std::span<const PhaseMark> phases)
    {
        const bool hasBuckets = std::ranges::any_of(events, [this](const AllocEvent& event) {
            return event.path && strings_.text(event.path).ends_with(kDataParallel);
        });
        if (!hasBuckets)
            return;
        Pending young; // no optimizer step has ended since
        Pending old;   // one has
        std::size_t next = 0;
        const auto reach = [&](std::int64_t time) {
            for (; next < phases.size() && phases[next].time <= time; ++next) {
                if (phases[next].kind != PhaseMark::Kind::OptimizerEnds)
                    continue;
                for (const auto& [address, index] : old.blocks)
                    uses_[index].category = MemoryCategory::Gradients;
                old = std::exchange(young, {});
            }
        };
        for (std::size_t i = 0; i < events.size(); ++i) {
            const AllocEvent& event = events[i];
            reach(nanosecondsOf(event.time));
            if (!isFree(event) && event.action != AllocAction::Alloc)
                continue;
            young.blocks.erase(event.address);
            old.blocks.erase(event.address);
            const MemoryCategory category = uses_[i].category;
            const bool isCandidate =
                category == MemoryCategory::Activations || category == MemoryCategory::Inputs;
            if (event.action == AllocAction::Alloc && event.path && isCandidate && mayBeBucket(event))
                young.blocks[event.address] = i;
        }
        reach(std::numeric_limits<std::int64_t>::max());
    }

    void inferFromPhases(std::span<const AllocEvent> events, std::span<const PhaseMark> phases)
    {
        Pending outside;
        Pending forward;
        Pending backward;
        Pending optimizer;
        bool inForward = false;
        std::size_t next = 0;
        const auto reach = [&](std::int64_t time) {
            for (; next < phases.size() && phases[next].time <= time; ++next) {
                switch (phases[next].kind) {
                case PhaseMark::Kind::ForwardBegins:
                    // A loss is a module too, with a forward of its own.
                    if (!std::exchange(inForward, true))
                        settle(outside, MemoryCategory::Inputs);
                    break;
                case PhaseMark::Kind::BackwardBegins:
                    settle(outside, MemoryCategory::Activations);
                    settle(forward, MemoryCategory::Activations);
                    inForward = false;
                    break;
                case PhaseMark::Kind::OptimizerBegins:
                    settle(backward, MemoryCategory::Gradients);
                    optimizer.blocks.clear();
                    break;
                case PhaseMark::Kind::OptimizerEnds:
                    settle(optimizer, MemoryCategory::Optimizer);
                    outside.blocks.clear();
                    forward.blocks.clear();
                    inForward = false;
                    break;
                }
            }
        };
        for (std::size_t i = 0; i < events.size(); ++i) {
            const AllocEvent& event = events[i];
            reach(nanosecondsOf(event.time));
            for (Pending* pending : {&outside, &forward, &backward, &optimizer})
                if (isFree(event) || event.action == AllocAction::Alloc)
                    pending->blocks.erase(event.address);
            if (event.action != AllocAction::Alloc || !event.path)
                continue;
            const std::string_view phase = analysis::phaseOf(strings_.text(event.path));
            Pending& pending = phase == "backward"                ? backward
                               : phase == "optimizer"             ? optimizer
                               : phase.empty() || phase == "data" ? outside
                                                                  : forward;
            pending.blocks[event.address] = i;
        }
        reach(std::numeric_limits<std::int64_t>::max());
    }

    /// Blocks that are named and have no path were made before the steps.
    void namePaths(std::vector<AllocEvent>& events, std::span<const HeldStorage> storages)
    {
        std::map<std::uint64_t, const HeldStorage*> names;
        for (const HeldStorage& storage : storages)
            if (!storage.name.empty())
                names[storage.address] = &storage;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const auto name = names.find(events[i].address);
            if (events[i].action != AllocAction::Alloc || events[i].path || name == names.end() ||
                uses_[i].category != name->second->category)
                continue;
            events[i].path = strings_.intern(std::string(kSetUpRange) + '/' +
                                             setUpComponent(uses_[i].category, name->second->name));
        }
    }

    StringId word(MemoryCategory category) { return strings_.intern(wordOf(category)); }

    StringTable& strings_;
    std::vector<analysis::AllocationUse> uses_;
};

/// One time line of a device from those of the processes that use it.
std::vector<AllocEvent> merged(std::map<ProcessIndex, std::vector<AllocEvent>>& parts)
{
    if (parts.size() == 1)
        return std::move(parts.begin()->second);
    std::vector<std::pair<AllocEvent, std::size_t>> all;
    std::size_t part = 0;
    for (auto& [process, events] : parts) {
        for (AllocEvent& event : events) {
            event.address += static_cast<std::uint64_t>(part) << kProcessAddressBits;
            all.emplace_back(event, part);
        }
        ++part;
    }
    std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first.time; });
    std::vector<std::int64_t> allocated(parts.size(), 0);
    std::vector<std::int64_t> reserved(parts.size(), 0);
    std::vector<AllocEvent> events;
    events.reserve(all.size());
    for (auto& [event, from] : all) {
        allocated[from] = event.allocated;
        reserved[from] = event.reserved;
        event.allocated = std::accumulate(allocated.begin(), allocated.end(), std::int64_t{0});
        event.reserved = std::accumulate(reserved.begin(), reserved.end(), std::int64_t{0});
        events.push_back(event);
    }
    return events;
}

} // namespace

std::vector<PhaseMark> phaseMarks(const ForeignTrace& trace)
{
    std::vector<PhaseMark> marks;
    if (trace.allocations.empty())
        return marks;
    for (const HostRow& row : trace.host) {
        if (row.kind != HostKind::Range)
            continue;
        const std::string_view name = trace.strings.text(StringId{row.name});
        const ProcessIndex process = trace.threads[row.thread].process;
        if (name == "forward") {
            marks.push_back({row.start, process, PhaseMark::Kind::ForwardBegins});
        } else if (name == "backward") {
            marks.push_back({row.start, process, PhaseMark::Kind::BackwardBegins});
        } else if (name == "optimizer") {
            marks.push_back({row.start, process, PhaseMark::Kind::OptimizerBegins});
            marks.push_back({row.end, process, PhaseMark::Kind::OptimizerEnds});
        }
    }
    std::ranges::stable_sort(marks, {}, &PhaseMark::time);
    return marks;
}

std::vector<AllocEvent> completeAllocations(std::vector<ForeignAllocation>&& allocations,
                                            std::span<const ForeignHeld> held,
                                            std::span<const PhaseMark> phases, StringTable& strings)
{
    std::map<DeviceIndex, std::map<ProcessIndex, std::vector<AllocEvent>>> parts;
    for (const ForeignAllocation& each : allocations)
        parts[each.event.device][each.process].push_back(each.event);
    Categories categories(strings);
    std::vector<AllocEvent> all;
    all.reserve(allocations.size());
    for (auto& [device, processes] : parts) {
        for (auto& [process, events] : processes) {
            std::ranges::stable_sort(events, {}, &AllocEvent::time);
            if (!device)
                followCpu(events);
            std::vector<ForeignHeld> own;
            std::ranges::copy_if(held, std::back_inserter(own),
                                 [at = process, on = device](const ForeignHeld& each) {
                                     return each.process == at && each.device == on;
                                 });
            std::vector<PhaseMark> marks;
            std::ranges::copy_if(phases, std::back_inserter(marks),
                                 [at = process](const PhaseMark& mark) { return mark.process == at; });
            if (!own.empty() || !marks.empty())
                categories.assign(events, own, marks);
        }
        std::ranges::move(merged(processes), std::back_inserter(all));
    }
    allocations.clear();
    return all;
}

} // namespace tilescope::exchange
