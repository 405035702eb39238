#pragma once

#include "core/base/units.h"

#include <filesystem>

namespace tilescope::engine {

/// Memory that this process can still allocate before the host swaps or its control group kills it.
/// \param root  parent folder of proc and sys; for tests
/// \return      the available memory of /proc/meminfo, or the remainder of a control group's limit (v2 or v1)
///              if that is less
Bytes availableHostMemory(const std::filesystem::path& root = "/");

/// The default memory limit of a point on a CPU: 80 % of the available memory.
Bytes defaultHostLimit();

} // namespace tilescope::engine
