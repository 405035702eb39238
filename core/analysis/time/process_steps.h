#pragma once

#include "core/analysis/time/busy_parts.h"
#include "core/analysis/time/step_partition.h"
#include "core/analysis/time/step_walls.h"
#include "core/analysis/time/unrecorded_work.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// Partitions the wall times (StepWalls) of the traced steps of one process.
///
/// A period of the kernels ends when the first work of the next one begins. While the GPU is idle before that, the host
/// prepares the launch of this work.
///
/// Steps come in start order, each before the launches within it and before device events; otherwise events come in
/// any order. One thread. Memory grows with the number of steps, waiting calls and gaps in device activity.
class ProcessSteps {
public:
    /// \param host  the step's range on the host
    void addStep(std::int32_t number, Interval host);
    void addCall(ApiKind kind, Interval time);
    /// Adds an event to the step that launched it.
    /// \param work  the kind of work; matters only to busyParts()
    void addDeviceEvent(const DeviceEvent& event, DeviceWork work = DeviceWork::Compute);

    /// Sets the wall times of the steps, in the order in which the steps were added. Needed if only the
    /// events of some steps are added, because wall times depend on all events of a run.
    void setWalls(std::vector<Interval> walls) { known_ = std::move(walls); }

    /// The wall times of the steps, in the order in which the steps were added.
    std::vector<Interval> walls() const { return known_.empty() ? walls_.list() : known_; }
    /// The partitions of the same steps, restricted to `span`; empty for a step outside `span`.
    std::vector<StepPartition> partitions(const Interval& span = kEver) const;
    /// The parts of each partition's `gpuBusy`; they add up to it.
    std::vector<BusyParts> busyParts(const Interval& span = kEver) const;

private:
    static constexpr Interval kEver{Timestamp::min(), Timestamp::max()};

    std::vector<Interval> wallsWithin(const Interval& span) const;

    StepWalls walls_;
    std::vector<Interval> known_;          ///< the wall times set by setWalls(); empty: use walls_
    std::vector<Timestamp> lastLaunches_;  ///< by step: end of the last of its own launches
    std::vector<Timestamp> firstLaunches_; ///< by step: start of the first launch of its work on the device
    Timestamp firstErrand_ = Timestamp::max(); ///< of the host for the device: a launch, or a call that waits
    std::array<std::vector<Interval>, kDeviceWorks> busy_; ///< stretches of device activity, by DeviceWork
    std::vector<ApiCall> waits_;                           ///< calls that wait, and work of the tracer
    UnrecordedWork unrecorded_;
};

} // namespace tilescope::analysis
