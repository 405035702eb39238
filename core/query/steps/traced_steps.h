#pragma once

#include "core/model/topology_index.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <functional>
#include <vector>

namespace tilescope::query {

/// The events of one traced step, each list in start order.
struct TracedStep {
    std::int32_t step = 0;
    std::vector<Range> ranges = {};
    std::vector<Op> ops = {};
    std::vector<DeviceEvent> device = {};
};

/// Goes through the traced steps of a run, those that have ranges, in the order of their numbers. Only one
/// step's events are in memory at a time. Reads each event twice.
/// \return the number of steps
std::size_t eachTracedStep(const store::RunReader& reader, RunId run,
                           const std::function<void(const TracedStep&)>& take);

/// The events of one process among those of a step; all of them in a run of one process.
TracedStep stepOf(const TopologyIndex& topology, ProcessIndex process, TracedStep step);

/// The parts of a run's events that lie in a span, in steps or not, as those of one step.
TracedStep eventsWithin(const store::RunReader& reader, RunId run, const TimeSpan& span);

} // namespace tilescope::query
