#include "core/analysis/ranks/rank_step.h"

namespace tilescope::analysis {

RankStep rankStepOf(const StepPartition& step, const BusyParts& busy)
{
    return {.wall = step.wall,
            .compute = busy.compute,
            .exposedCommunication = busy.exposedCommunication,
            .exposedCopies = busy.exposedCopies,
            .host = step.launching + step.synchronizing + step.tracing,
            .idle = step.unexplained,
            .overlapped = busy.overlapped};
}

RankStep rankStepOnCpu(Interval wall, std::span<const Interval> ops, std::span<const Interval> collectives)
{
    const BusyParts busy = partitionBusy(wall, ops, collectives, {});
    return {.wall = wall,
            .compute = busy.compute,
            .exposedCommunication = busy.exposedCommunication,
            .idle = wall.length() - busy.compute - busy.exposedCommunication,
            .overlapped = busy.overlapped};
}

} // namespace tilescope::analysis
