#pragma once

#include "core/analysis/time/step_partition.h"
#include "core/base/units.h"

#include <cstdint>

namespace tilescope::analysis {

inline Interval between(std::int64_t start, std::int64_t end)
{
    return {timestampAt(start), timestampAt(end)};
}

/// Of all parts.
inline Nanoseconds sumOf(const StepPartition& step)
{
    return step.gpuBusy + step.launching + step.synchronizing + step.tracing + step.unexplained;
}

} // namespace tilescope::analysis
