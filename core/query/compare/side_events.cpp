#include "core/query/compare/side_events.h"

#include "core/query/compare/gpu_side.h"
#include "core/query/compare/step_groups.h"

#include <list>
#include <span>
#include <unordered_map>

namespace tilescope::query {

namespace {

RunGroups readTogether(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
                       std::span<const ProcessQuery> processes, StepSide& side)
{
    StepGroups groups(reader, run, topology);
    std::list<GpuSide> sides;
    for (const ProcessQuery& process : processes)
        sides.emplace_back(reader, run, process, StepScope::Traced, side);
    const auto add = [&groups](const auto& event) {
        groups.add(event);
        return true;
    };
    const auto addToStep = [&sides](const auto& event) {
        for (GpuSide& each : sides)
            each.add(event);
        return true;
    };
    const auto addToBoth = [&](const auto& event) { return add(event) && addToStep(event); };
    reader.eachRange({.run = run}, addToBoth);
    for (GpuSide& each : sides)
        each.endRanges();
    reader.eachOp({.run = run}, add);
    reader.eachApiCall({.run = run}, addToStep);
    reader.eachDeviceEvent({.run = run}, addToBoth);
    reader.eachAllocEvent({.run = run}, addToStep);
    for (GpuSide& each : sides)
        each.finish();
    return groups.take();
}

} // namespace

SideEvents sideEvents(const store::RunReader& reader, std::span<const RunId> runs,
                      const ProcessQuery& topology)
{
    SideEvents events;
    reader.atOnce([&] {
        std::unordered_map<RunId, RunGroups> known;
        events.step = stepSide(
            reader, runs, topology, [&](RunId run, std::span<const ProcessQuery> processes, StepSide& side) {
                known.insert_or_assign(run, readTogether(reader, run, topology, processes, side));
            });
        std::vector<RunGroups> groups;
        for (const RunId run : runs) {
            const auto found = known.find(run);
            groups.push_back(found == known.end() ? runGroups(reader, run, topology)
                                                  : std::move(found->second));
        }
        events.groups = joined(groups);
    });
    return events;
}

} // namespace tilescope::query
