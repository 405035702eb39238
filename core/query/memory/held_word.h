#pragma once

#include "core/query/memory/memory_difference.h"

#include <string_view>

namespace tilescope::query {

/// What the bytes of a run's blocks are called. A snapshot tells what its program asked for; PyTorch's
/// "allocated" is that, rounded up.
constexpr std::string_view heldWord(std::string_view workload)
{
    return workload == kSnapshotWorkload ? "requested" : "allocated";
}

} // namespace tilescope::query
