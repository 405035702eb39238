#include "core/query/runs/host_memory.h"

#include "core/model/process_address.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <optional>

namespace tilescope::query {

namespace {

bool mayHaveHostMemory(const store::RunReader& reader, RunId run)
{
    const std::vector<store::TrackInfo> tracks = reader.tracks(run);
    return tracks.empty() || std::ranges::any_of(tracks, [](const store::TrackInfo& track) {
               return track.kind == store::LaneKind::Memory && !track.device;
           });
}

} // namespace

ProcessIndex hostMemoryProcess(const store::RunReader& reader, RunId run)
{
    if (reader.topology(run).processes.size() < 2 || !mayHaveHostMemory(reader, run))
        return {};
    std::optional<AllocEvent> known; // the first whose op says where it comes from
    bool areSeveral = false;
    reader.eachAllocEvent({.run = run}, [&](const AllocEvent& event) {
        if (event.device)
            return true;
        areSeveral = event.address >> kProcessAddressBits != 0;
        if (!known && event.op)
            known = event;
        return !areSeveral;
    });
    if (areSeveral || !known)
        return {};
    ThreadId thread;
    reader.eachOp({.run = run, .from = known->time, .to = known->time + Nanoseconds(1)}, [&](const Op& op) {
        if (op.id == known->op)
            thread = op.thread;
        return op.id != known->op;
    });
    for (const ThreadName& each : reader.threads(run))
        if (thread && each.thread == thread)
            return each.process;
    return {};
}

RunTopology topologyWithHost(const store::RunReader& reader, RunId run)
{
    RunTopology topology = reader.topology(run);
    if (const ProcessIndex process = hostMemoryProcess(reader, run))
        topology.streams.push_back({.process = process});
    return topology;
}

} // namespace tilescope::query
