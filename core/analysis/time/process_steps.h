#pragma once

#include "core/analysis/time/busy_parts.h"
#include "core/analysis/time/step_partition.h"
#include "core/analysis/time/step_walls.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilescope::analysis {

/// Partitions the wall times (StepWalls) of the traced steps of one process.
///
/// Steps come in start order, each before the launches within it and before device events; otherwise events come in
/// any order. One thread. Memory grows with the number of steps, waiting calls and gaps in device activity.
class ProcessSteps {
public:
    /// \param host  range of the step on the host
    void addStep(std::int32_t number, Interval host);
    void addCall(ApiKind kind, Interval time);
    /// The step of the event is the one that launched it.
    /// \param work  what it works on; matters only to busyParts()
    void addDeviceEvent(const DeviceEvent& event, DeviceWork work = DeviceWork::Compute);

    /// Of the steps in the order of adding.
    std::vector<StepPartition> partitions() const;
    /// The same steps: the parts of their `gpuBusy`, which they add up to.
    std::vector<BusyParts> busyParts() const;

private:
    StepWalls walls_;
    std::vector<Timestamp> lastLaunches_;                  ///< by step, of its own launches
    std::array<std::vector<Interval>, kDeviceWorks> busy_; ///< stretches of device activity, by DeviceWork
    std::vector<ApiCall> waits_;                           ///< calls that wait, and work of the tracer
};

} // namespace tilescope::analysis
