#pragma once

#include "core/base/units.h"

#include <filesystem>

namespace tilescope::engine {

/// Memory that this process can still take without the host swapping or its control group killing it.
/// \param root  where proc and sys are mounted; for tests
/// \return what /proc/meminfo calls available, or less where a control group (v2 or v1) leaves less
Bytes availableHostMemory(const std::filesystem::path& root = "/");

/// What tensors of a CPU point may take unless told otherwise: 80 % of what is available.
Bytes defaultHostLimit();

} // namespace tilescope::engine
