#pragma once

#include "core/analysis/time/busy_parts.h"
#include "core/analysis/time/step_partition.h"
#include "core/analysis/time/step_walls.h"

#include <array>
#include <cstdint>
#include <utility>
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

    /// Makes these the wall times of the steps, in the order of adding. Needed if only the events of some steps are added,
    /// because wall times depend on all events of a run.
    void setWalls(std::vector<Interval> walls) { known_ = std::move(walls); }

    /// The wall times of the steps in the order of adding.
    std::vector<Interval> walls() const { return known_.empty() ? walls_.list() : known_; }
    /// Of the same steps; only of their parts within `span`, which are empty where a step is outside.
    std::vector<StepPartition> partitions(const Interval& span = kEver) const;
    /// The same: the parts of their `gpuBusy`, which they add up to.
    std::vector<BusyParts> busyParts(const Interval& span = kEver) const;

private:
    static constexpr Interval kEver{Timestamp::min(), Timestamp::max()};

    std::vector<Interval> wallsWithin(const Interval& span) const;

    StepWalls walls_;
    std::vector<Interval> known_;         ///< wall times that were set; empty: those of walls_
    std::vector<Timestamp> lastLaunches_; ///< by step, of its own launches
    std::array<std::vector<Interval>, kDeviceWorks> busy_; ///< stretches of device activity, by DeviceWork
    std::vector<ApiCall> waits_;                           ///< calls that wait, and work of the tracer
};

} // namespace tilescope::analysis
