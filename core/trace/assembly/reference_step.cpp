#include "core/trace/assembly/reference_step.h"

#include <algorithm>

namespace tilescope::trace {

namespace {

template <class Entry> Entry& at(std::vector<Entry>& entries, std::uint32_t ordinal)
{
    entries.resize(std::max<std::size_t>(entries.size(), ordinal + 1));
    return entries[ordinal];
}

template <class Map>
const typename Map::mapped_type* entriesOf(const Map& map, const typename Map::key_type& key)
{
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
}

} // namespace

void ReferenceStep::clear()
{
    ops_.clear();
    launches_.clear();
    steps_ = 1;
}

void ReferenceStep::noteStep(std::int32_t step)
{
    steps_ = std::max(steps_, step + 1);
}

// Records outside steps have step kNoStep, which is negative.
ReferenceStep::Key ReferenceStep::keyOf(std::uint32_t thread, std::int32_t step) const
{
    return {step < 0 ? step : step % steps_, thread};
}

void ReferenceStep::noteOp(std::uint32_t thread, std::int32_t step, const HostRecord::OpBody& op)
{
    noteStep(step);
    at(ops_[{step, thread}], op.ordinal) = {op.name, op.shapes};
}

void ReferenceStep::noteLaunch(std::uint32_t thread, const HostRecord& launch)
{
    noteStep(launch.step);
    at(launches_[{launch.step, thread}], launch.launch.ordinal) = {launch.context.path, launch.context.op};
}

ReferenceStep::Found ReferenceStep::shapesOf(std::uint32_t thread, std::int32_t step,
                                             const HostRecord::OpBody& op) const
{
    const auto* ops = entriesOf(ops_, keyOf(thread, step));
    if (!ops)
        return {};
    if (op.ordinal >= ops->size() || (*ops)[op.ordinal].name != op.name)
        return {.matches = false};
    return {.value = (*ops)[op.ordinal].shapes};
}

ReferenceStep::Found ReferenceStep::opOf(std::uint32_t thread, const HostRecord& launch) const
{
    const auto* launches = entriesOf(launches_, keyOf(thread, launch.step));
    if (!launches || ops_.empty())
        return {};
    const std::uint32_t ordinal = launch.launch.ordinal;
    if (ordinal >= launches->size() || (*launches)[ordinal].path != launch.context.path)
        return {.matches = false};
    return {.value = (*launches)[ordinal].op};
}

} // namespace tilescope::trace
