#pragma once

#include "core/analysis/time/step_partition.h"
#include "core/analysis/time/step_walls.h"

#include <cstdint>
#include <vector>

namespace tilescope::analysis {

/// Partitions the wall times (StepWalls) of the traced steps of one process.
///
/// Steps come first, in start order, then events in any order. One thread. Memory grows with the number of
/// steps, waiting calls and gaps in device activity.
class ProcessSteps {
public:
    /// \param host  range of the step on the host
    void addStep(std::int32_t number, Interval host);
    void addCall(ApiKind kind, Interval time);
    /// The step of the event is the one that launched it.
    void addDeviceEvent(const DeviceEvent& event);

    /// Of the steps in the order of adding.
    std::vector<StepPartition> partitions() const;

private:
    StepWalls walls_;
    std::vector<Timestamp> lastLaunches_; ///< by step, of its own launches
    std::vector<Interval> busy_;          ///< stretches of device activity
    std::vector<ApiCall> waits_;          ///< calls that wait, and work of the tracer
};

} // namespace tilescope::analysis
