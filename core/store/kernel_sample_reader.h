#pragma once

#include "core/base/ids.h"
#include "core/model/kernel_samples.h"

#include <filesystem>

namespace tilescope::store {

/// What the warps of a run's kernels did at sampled instants; empty if that was not recorded. Opens the file for this call.
/// Any thread.
/// \param withCode  also the machine code of the kernels and the source text that the file has
/// \throws Error  as the members of RunReader
KernelSamples kernelSamples(const std::filesystem::path& file, RunId run, bool withCode);

} // namespace tilescope::store
