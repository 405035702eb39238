#include "core/analysis/memory/graph_pool.h"

#include "core/analysis/memory/block_lives.h"
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
    BlockLives<std::int64_t> blocks; // by address: bytes of blocks in graph pools
    std::int64_t bytes = 0;
    std::optional<std::int64_t> most;
    for (const AllocEvent& event : captured.events) {
        const std::int64_t opened =
            event.action == AllocAction::Alloc && isGraphPool(event.pool) ? event.bytes : 0;
        bytes += opened - blocks.apply(event, [&] { return opened; }).value_or(0);
        if (opened > 0)
            most = std::max(most.value_or(0), bytes);
    }
    return most;
}

void attributeGraphPool(std::span<MemoryBlock> blocks, const CapturedStep& captured,
                        const StringTable& strings)
{
    const std::vector<AllocationUse> uses = allocationUses(captured.events, captured.held, captured.saved);
    BlockLives<std::size_t> lives; // by address: index of the allocation
    for (std::size_t i = 0; i < captured.events.size(); ++i)
        lives.apply(captured.events[i], [i] { return i; });
    std::unordered_map<OpId, StringId> ops;
    for (const Op& op : captured.ops)
        ops.emplace(op.id, op.name);
    for (MemoryBlock& block : blocks) {
        if (block.isFree || block.name != kGraphPool)
            continue;
        const std::size_t* made = lives.find(block.address);
        if (!made)
            continue;
        const AllocEvent& event = captured.events[*made];
        // An allocation outside any range has no known purpose.
        if (!isGraphPool(event.pool) || event.bytes != block.bytes || !event.path)
            continue;
        const auto op = ops.find(event.op);
        block.category = uses[*made].category;
        block.name =
            nameOf(strings.text(event.path), op == ops.end() ? std::string_view{} : strings.text(op->second));
    }
}

} // namespace tilescope::analysis
