#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <map>
#include <optional>
#include <span>
#include <utility>

namespace tilescope::analysis {

/// Detects a leak: each traced step leaves more memory allocated than the one before. One thread.
class StepGrowth {
public:
    /// Events must be in time order, also across calls.
    void add(std::span<const AllocEvent> events);

    /// The average growth per step on the device with the largest growth. None if there are fewer than three
    /// steps or some step did not grow.
    std::optional<Bytes> perStep() const;

private:
    /// Allocated bytes after the last event of each step.
    std::map<std::pair<DeviceIndex, std::int32_t>, std::int64_t> after_;
};

} // namespace tilescope::analysis
