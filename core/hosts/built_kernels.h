#pragma once

#include <string>
#include <string_view>

namespace tilescope::hosts {

/// TILESCOPE_KERNEL_SET of this build, with commas: `all`, `small`, or compute capabilities: `8.6,9.0`.
std::string builtKernels();

/// Why the CUDA kernels of a build do not serve a GPU, as a phrase; empty if they do.
/// \param set         as of builtKernels()
/// \param capability  compute capability: `8.6`
std::string whyKernelsDoNotServe(std::string_view set, std::string_view capability);

} // namespace tilescope::hosts
