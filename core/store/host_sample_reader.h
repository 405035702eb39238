#pragma once

#include "core/base/ids.h"
#include "core/model/host_samples.h"

#include <filesystem>
#include <vector>

namespace tilescope::store {

/// The Python stacks of the threads of a run, by process; empty if they were not recorded. Opens the file for this call.
/// Any thread.
/// \throws Error  as the members of RunReader
std::vector<HostSamples> hostSamples(const std::filesystem::path& file, RunId run);
/// Whether there are any, without reading them.
bool hasHostSamples(const std::filesystem::path& file, RunId run);

} // namespace tilescope::store
