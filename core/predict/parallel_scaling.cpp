#include "core/predict/parallel_scaling.h"

#include "core/model/parallelism.h"
#include "core/predict/communication.h"
#include "core/predict/experiment.h"
#include "core/predict/predict_memory.h"
#include "core/predict/predict_time.h"

namespace tilescope::predict {

namespace {

/// Whether the layers can be divided among the columns of the grid.
bool canDivide(const ExperimentSpec& spec)
{
    const int parts = gridOf(spec).tensor;
    const bool isGrid = spec.parallel != Parallel::FsdpTp || parts > 1;
    return isGrid && spec.heads % parts == 0 && spec.dFf % parts == 0;
}

/// Whether more ranks need less memory each.
bool dependsOnRanks(Parallel parallel)
{
    return parallel != Parallel::DdpNaive && parallel != Parallel::DdpFlat && parallel != Parallel::Ddp;
}

bool fits(const ExperimentSpec& spec, const TargetDevice& device)
{
    const auto memory = predictMemory(spec, device);
    return memory && !memory->outOfMemory;
}

std::optional<int> fitsFrom(ExperimentSpec spec, const TargetDevice& device)
{
    const int most = dependsOnRanks(spec.parallel) ? ParallelScaling::kMostRanks : 1;
    for (spec.gpus = 1; spec.gpus <= most; ++spec.gpus)
        if (canDivide(spec) && fits(spec, device))
            return spec.gpus;
    return {};
}

} // namespace

std::optional<ParallelScaling> parallelScaling(const ExperimentSpec& spec, const TargetDevice& device,
                                               const std::optional<DeviceRates>& rates)
{
    if (spec.workload != Workload::Lm || spec.parallel == Parallel::None || !isReplayable(spec))
        return {};
    ParallelScaling scaling{.isCapacityKnown = device.capacity || spec.memoryLimit,
                            .bytesSent = trafficOf(spec).sum()};
    if (scaling.isCapacityKnown)
        scaling.fitsFrom = fitsFrom(spec, device);
    const auto time = rates ? predictTime(spec, device, *rates) : std::nullopt;
    if (!time)
        return scaling;
    scaling.communicationSeconds = time->communicationSeconds;
    scaling.exposedSeconds = time->exposedSeconds;
    if (!device.isCuda)
        return scaling; // ranks do not add cores
    double compute = 0;
    for (const auto& [phase, seconds] : time->phases)
        compute += phase == Phase::Optimizer ? 0 : seconds.wall - seconds.exposed;
    scaling.boundFrom = communicationBoundFrom(spec, compute, rates->link);
    return scaling;
}

} // namespace tilescope::predict
