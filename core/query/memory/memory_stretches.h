#pragma once

#include "core/query/memory/memory_history.h"
#include "core/query/runs/grouping.h"

#include <cstdint>
#include <map>
#include <string>

namespace tilescope::query {

/// The changes of a device's memory while a range, phase, module or step ran.
struct MemoryStretch {
    std::int64_t instances = 0;
    std::int64_t before = 0; ///< allocated when the first instance began
    std::int64_t after = 0;  ///< when it ended
    std::int64_t peak = 0;   ///< most within any instance
    std::int64_t churn = 0;  ///< bytes that were allocated within an instance, on average
};

/// The time intervals of each group, by key: those of the ranges of the traced steps. The backward of a
/// module has no range, so its interval is from its first to its last allocation event. Empty for groupings
/// without time intervals.
std::map<std::string, MemoryStretch> memoryStretches(const store::RunReader& reader,
                                                     const MemoryHistory& history, Grouping grouping);

} // namespace tilescope::query
