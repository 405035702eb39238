#pragma once

#include "core/query/memory/memory_difference.h"

#include <string_view>

namespace tilescope::query {

/// The word for the bytes of a run's blocks. A snapshot contains requested sizes; "allocated" in PyTorch
/// includes rounding.
constexpr std::string_view heldWord(std::string_view workload)
{
    return workload == kSnapshotWorkload ? "requested" : "allocated";
}

} // namespace tilescope::query
