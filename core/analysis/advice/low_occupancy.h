#pragma once

#include "core/analysis/advice/stake.h"
#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/kernels/occupancy.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// What keeps warps of a launch from running at once.
enum class LaunchLimit : std::uint8_t { BlockSize, Registers, SharedMemory, GridSize };

std::string_view wordOf(LaunchLimit limit); ///< block size, registers, shared memory, grid size

/// The warps of a device that a launch can use at once.
struct LaunchReach {
    double share = 0; ///< from 0 to 1
    LaunchLimit limit = LaunchLimit::BlockSize;
};

/// Below this share, occupancy is low.
inline constexpr double kLowOccupancy = 0.5;

/// The share is that of occupancyOf(), reduced further if the grid has too few blocks to fill the multiprocessors.
/// \param multiprocessors  of the device; none: the grid is assumed to fill them
/// \return  none if the launch was not recorded or is impossible on the device
std::optional<LaunchReach> reachOf(const LaunchConfig& launch, const MultiprocessorLimits& limits,
                                   std::optional<int> multiprocessors);

/// Whether few warps slow a kernel of this family down. Matrix products and attention hide latency within a block
/// by asynchronous copies and are written for few warps; copies and collectives do not compute.
bool needsOccupancy(KernelFamily family);

/// What full occupancy saves at most: the time of the kernels times the share of warps that they cannot use.
/// \param kernels  those with low occupancy that are not small (kSmallKernel), in any order
/// \param shareOf  LaunchReach::share of a group
/// \param others   other activity of the device: a result of unionOf()
Stake lowOccupancy(std::vector<GroupedTime> kernels, std::span<const Interval> walls,
                   std::span<const Interval> others,
                   const std::function<double(std::uint32_t group)>& shareOf);

} // namespace tilescope::analysis
