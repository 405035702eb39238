#include "core/trace/assembly/reference_step.h"

#include <algorithm>

namespace tilescope::trace {

namespace {

template <class Entry> Entry& at(std::vector<Entry>& entries, std::uint32_t ordinal)
{
    entries.resize(std::max<std::size_t>(entries.size(), ordinal + 1));
    return entries[ordinal];
}

template <class Map> const typename Map::mapped_type* entriesOf(const Map& map, std::uint32_t thread)
{
    const auto found = map.find(thread);
    return found == map.end() ? nullptr : &found->second;
}

} // namespace

void ReferenceStep::clear()
{
    ops_.clear();
    launches_.clear();
}

void ReferenceStep::noteOp(std::uint32_t thread, const HostRecord::OpBody& op)
{
    at(ops_[thread], op.ordinal) = {op.name, op.shapes};
}

void ReferenceStep::noteLaunch(std::uint32_t thread, const HostRecord& launch)
{
    at(launches_[thread], launch.launch.ordinal) = {launch.context.path, launch.context.op};
}

ReferenceStep::Found ReferenceStep::shapesOf(std::uint32_t thread, const HostRecord::OpBody& op) const
{
    const auto* ops = entriesOf(ops_, thread);
    if (!ops)
        return {};
    if (op.ordinal >= ops->size() || (*ops)[op.ordinal].name != op.name)
        return {.matches = false};
    return {.value = (*ops)[op.ordinal].shapes};
}

ReferenceStep::Found ReferenceStep::opOf(std::uint32_t thread, const HostRecord& launch) const
{
    const auto* launches = entriesOf(launches_, thread);
    if (!launches || ops_.empty())
        return {};
    const std::uint32_t ordinal = launch.launch.ordinal;
    if (ordinal >= launches->size() || (*launches)[ordinal].path != launch.context.path)
        return {.matches = false};
    return {.value = (*launches)[ordinal].op};
}

} // namespace tilescope::trace
