#include "core/query/memory/life_maker.h"

#include "core/model/set_up_path.h"
#include "core/model/text.h"

#include <algorithm>
#include <iterator>

namespace tilescope::query {

void LifeMaker::readOps(std::span<const AllocEvent> events)
{
    std::vector<NamedOp> ops;
    for (const AllocEvent& event : events)
        if (event.op && event.action == AllocAction::Alloc)
            ops.push_back({.id = event.op});
    std::ranges::sort(ops, {}, &NamedOp::id);
    const auto isSame = [](const NamedOp& a, const NamedOp& b) { return a.id == b.id; };
    ops.erase(std::unique(ops.begin(), ops.end(), isSame), ops.end());
    if (ops.empty())
        return;
    // Most ops come in the order of their numbers, so few of them are looked up.
    auto next = ops.begin();
    reader_.eachOp({.run = history_.run.run}, [&](const Op& op) {
        const bool isBehind = next == ops.begin() || std::prev(next)->id < op.id;
        if (isBehind && (next == ops.end() || op.id < next->id))
            return true;
        if (next == ops.end() || next->id != op.id)
            next = std::ranges::lower_bound(ops, op.id, {}, &NamedOp::id);
        if (next != ops.end() && next->id == op.id) {
            next->name = textIndex(op.name);
            next->shapes = textIndex(op.shapes);
            ++next;
        }
        return true;
    });
    ops_ = std::move(ops);
}

MemoryLife LifeMaker::of(const AllocEvent& allocation)
{
    MemoryLife block{.address = allocation.address,
                     .bytes = allocation.bytes,
                     .begin = (allocation.time - history_.origin).count(),
                     .end = MemoryLife::kAfter,
                     .category = categoryOf(allocation.category),
                     .step = allocation.step,
                     .path = textIndex(allocation.path),
                     .by = allocation.op};
    const auto op = std::ranges::lower_bound(ops_, allocation.op, {}, &NamedOp::id);
    if (op != ops_.end() && op->id == allocation.op) {
        block.op = op->name;
        block.shape = op->shapes;
    }
    if (allocation.step == kNoStep && allocation.path)
        block.name = nameOf(allocation.path);
    return block;
}

MemoryLife LifeMaker::of(const MemoryBlock& older)
{
    return {.address = older.address,
            .bytes = older.bytes,
            .begin = MemoryLife::kBefore,
            .end = MemoryLife::kAfter,
            .category = older.category,
            .name = textIndex(older.name),
            .shape = textIndex(older.shape)};
}

std::uint32_t LifeMaker::textIndex(std::string_view text)
{
    if (text.empty())
        return 0;
    const auto [place, isNew] =
        byText_.try_emplace(std::string(text), static_cast<std::uint32_t>(history_.texts.size()));
    if (isNew)
        history_.texts.emplace_back(text);
    return place->second;
}

std::uint32_t LifeMaker::textIndex(StringId id)
{
    if (!id)
        return 0;
    const auto [place, isNew] = byId_.try_emplace(id, 0);
    if (isNew)
        place->second = textIndex(reader_.text(id));
    return place->second;
}

std::uint32_t LifeMaker::nameOf(StringId path)
{
    const auto [place, isNew] = made_.try_emplace(path, 0);
    if (isNew)
        if (const auto tensor = setUpTensor(reader_.text(path)))
            place->second = textIndex(tensor->name);
    return place->second;
}

MemoryCategory LifeMaker::categoryOf(StringId id)
{
    const auto [place, isNew] = categories_.try_emplace(id, MemoryCategory::Unattributed);
    if (isNew && id)
        place->second = fromWord<MemoryCategory>(reader_.text(id)).value_or(MemoryCategory::Unattributed);
    return place->second;
}

} // namespace tilescope::query
