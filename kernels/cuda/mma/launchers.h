#pragma once

#include "kernels/cuda/mma/parameters.h"
#include "kernels/cuda/mma/tiles.h"

#include <array>
#include <iterator>

namespace tilescope::kernels {

/// Launchers of the mma.sync kernels by head dim, in the order of kMmaHeadDims. Each table has its own file,
/// so that they compile in parallel.
inline constexpr std::size_t kMmaHeadDimCount = std::size(kMmaHeadDims);
using MmaForwardLaunchers = std::array<ForwardLauncher, kMmaHeadDimCount>;
using MmaBackwardLaunchers = std::array<BackwardLauncher, kMmaHeadDimCount>;

extern const MmaForwardLaunchers kMmaForwardBf16, kMmaForwardFp16, kMmaForwardTf32, kMmaForwardFp32;
extern const MmaBackwardLaunchers kMmaBackwardBf16, kMmaBackwardFp16, kMmaBackwardTf32, kMmaBackwardFp32;

} // namespace tilescope::kernels
