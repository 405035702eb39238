#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// The time that each step of one process takes, on the host and on the device.
///
/// The host launches ahead of the device and may leave a step before the device begins it, as with replayed CUDA
/// graphs. A step therefore begins with its host range or, if later, when the device has finished the steps
/// before; it ends with its host range or, if later, when the device has finished what the step launched. The
/// stream that is busiest with the work of steps decides, so that a copy in the background delays no step. Steps that wait for
/// the device take as long as their host range.
///
/// Steps come first, in start order, then the work in any order. One thread.
class StepWalls {
public:
    /// \param host  range of the step on the host
    void addStep(std::int32_t number, Interval host);
    /// \return  the position of the step that launched the event (`event.step`); none if there is no such step
    std::optional<std::size_t> addWork(const DeviceEvent& event);

    /// Of the steps in the order of adding: disjoint.
    std::vector<Interval> list() const;
    const std::vector<Interval>& hostRanges() const { return hosts_; }

private:
    struct Stream {
        Nanoseconds busy{0};
        std::vector<Timestamp> ends; ///< by step: end of its last event
    };
    using StreamKey = std::pair<DeviceIndex, StreamId>;

    std::vector<Interval> hosts_;
    std::unordered_map<std::int32_t, std::size_t> byNumber_;
    std::map<StreamKey, Stream> streams_;
    // Those of the last event, since the next is likely to have the same.
    std::pair<std::int32_t, std::optional<std::size_t>> lastStep_{kNoStep, std::nullopt};
    std::pair<StreamKey, Stream*> lastStream_{};
};

} // namespace tilescope::analysis
