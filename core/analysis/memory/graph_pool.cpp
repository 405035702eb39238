#include "core/analysis/memory/graph_pool.h"

#include "core/analysis/memory/memory_labels.h"
#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

bool isGraphPool(std::uint32_t pool)
{
    return pool != 0 && (pool & kOwnPool) == 0;
}

bool isFree(AllocAction action)
{
    return action == AllocAction::FreeRequested || action == AllocAction::FreeCompleted;
}

/// The captured step's allocations in private pools that nothing freed, by address.
std::unordered_map<std::uint64_t, std::size_t> leftIn(std::span<const AllocEvent> events)
{
    std::unordered_map<std::uint64_t, std::size_t> left;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].action == AllocAction::Alloc && isGraphPool(events[i].pool))
            left[events[i].address] = i;
        else if (isFree(events[i].action))
            left.erase(events[i].address);
    }
    return left;
}

/// `lm_head aten::mm (forward, pool of a CUDA graph)`
std::string nameOf(std::string_view path, std::string_view op)
{
    const std::string_view module = moduleOf(path);
    const std::string_view phase = phaseOf(path);
    std::string name(module.empty() ? (phase.empty() ? path : phase) : module);
    if (!op.empty())
        name.append(name.empty() ? "" : " ").append(op);
    name += name.empty() ? "(" : " (";
    if (!module.empty() && !phase.empty())
        name.append(phase).append(", ");
    return name.append(kGraphPool).append(")");
}

} // namespace

std::optional<std::int64_t> mostInGraphPools(const CapturedStep& captured)
{
    std::unordered_map<std::uint64_t, std::int64_t> live;
    std::int64_t bytes = 0;
    std::optional<std::int64_t> most;
    for (const AllocEvent& event : captured.events) {
        if (event.action == AllocAction::Alloc && isGraphPool(event.pool)) {
            live[event.address] = event.bytes;
            bytes += event.bytes;
            most = std::max(most.value_or(0), bytes);
        } else if (const auto block = isFree(event.action) ? live.find(event.address) : live.end();
                   block != live.end()) {
            bytes -= block->second;
            live.erase(block);
        }
    }
    return most;
}

void attributeGraphPool(std::span<MemoryBlock> blocks, const CapturedStep& captured,
                        const StringTable& strings)
{
    const std::vector<AllocationUse> uses = allocationUses(captured.events, captured.held, captured.saved);
    const auto left = leftIn(captured.events);
    std::unordered_map<OpId, StringId> ops;
    for (const Op& op : captured.ops)
        ops.emplace(op.id, op.name);
    for (MemoryBlock& block : blocks) {
        if (block.isFree || block.name != kGraphPool)
            continue;
        const auto made = left.find(block.address);
        if (made == left.end() || captured.events[made->second].bytes != block.bytes)
            continue;
        const AllocEvent& event = captured.events[made->second];
        if (!event.path)
            continue; // no range asked for it: nothing tells what for
        const auto op = ops.find(event.op);
        block.category = uses[made->second].category;
        block.name =
            nameOf(strings.text(event.path), op == ops.end() ? std::string_view{} : strings.text(op->second));
    }
}

} // namespace tilescope::analysis
