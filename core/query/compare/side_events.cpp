#include "core/query/compare/side_events.h"

#include "core/query/compare/gpu_side.h"
#include "core/query/compare/step_groups.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace tilescope::query {

namespace {

RunGroups readTogether(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
                       std::span<const ProcessQuery> processes, StepSide& side)
{
    StepGroups groups(reader, run, topology);
    GpuSide::Run ofRun(reader, run, StepScope::Traced, !processes.empty() && processes.front().allSteps);
    PerProcess<GpuSide> sides;
    for (const ProcessQuery& process : processes)
        sides.emplace(ofRun, process, side);
    const auto add = [&groups](const auto& event) {
        groups.add(event);
        return true;
    };
    const auto addToStep = [&sides](const auto& event) {
        addToSides(sides, event);
        return true;
    };
    const auto addToBoth = [&](const auto& event) { return add(event) && addToStep(event); };
    reader.eachRange({.run = run}, addToBoth);
    for (GpuSide& each : sides.list())
        each.endRanges();
    if (!groups.addStoredOps())
        reader.eachOp({.run = run}, add);
    if (std::ranges::any_of(sides.list(), &GpuSide::needsCalls))
        reader.eachApiCall({.run = run}, addToStep);
    reader.eachDeviceEvent({.run = run}, addToBoth);
    if (std::ranges::any_of(sides.list(), &GpuSide::needsAllocations))
        reader.eachAllocEvent({.run = run}, addToStep);
    for (GpuSide& each : sides.list())
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
