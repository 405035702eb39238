#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <map>
#include <optional>
#include <span>
#include <utility>

namespace tilescope::analysis {

/// Whether each traced step leaves more memory allocated than the one before: a leak. One thread.
class StepGrowth {
public:
    /// In time order, also from call to call.
    void add(std::span<const AllocEvent> events);

    /// Bytes that a step leaves behind on average, on the device where they are most; none where some step
    /// left no more than the one before, or there were fewer than three.
    std::optional<Bytes> perStep() const;

private:
    /// Allocated after the last event of each step.
    std::map<std::pair<DeviceIndex, std::int32_t>, std::int64_t> after_;
};

} // namespace tilescope::analysis
