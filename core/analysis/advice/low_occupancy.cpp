#include "core/analysis/advice/low_occupancy.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

std::string_view wordOf(LaunchLimit limit)
{
    static constexpr std::array<std::string_view, 4> kWords{"block size", "registers", "shared memory",
                                                            "grid size"};
    return kWords[static_cast<std::size_t>(limit)];
}

std::optional<LaunchReach> reachOf(const LaunchConfig& launch, const MultiprocessorLimits& limits,
                                   std::optional<int> multiprocessors)
{
    const std::optional<Occupancy> occupancy = occupancyOf(launch, limits);
    if (!occupancy)
        return {};
    LaunchReach reach{.share = occupancy->share};
    if (occupancy->limit == OccupancyLimit::Registers)
        reach.limit = LaunchLimit::Registers;
    else if (occupancy->limit == OccupancyLimit::SharedMemory)
        reach.limit = LaunchLimit::SharedMemory;
    if (multiprocessors && *multiprocessors > 0)
        if (const double waves = wavesOf(launch, *occupancy, *multiprocessors); waves < 1) {
            reach.share *= waves;
            reach.limit = LaunchLimit::GridSize;
        }
    return reach;
}

bool needsOccupancy(KernelFamily family)
{
    switch (family) {
    case KernelFamily::Matmul:
    case KernelFamily::Convolution:
    case KernelFamily::Attention:
    case KernelFamily::Copy:
    case KernelFamily::Memset:
    case KernelFamily::Collective:
        return false;
    default:
        return true;
    }
}

Stake lowOccupancy(std::vector<GroupedTime> kernels, std::span<const Interval> walls,
                   std::span<const Interval> others,
                   const std::function<double(std::uint32_t group)>& shareOf)
{
    return scaled(stakeOf(std::move(kernels), walls, others),
                  [&](std::uint32_t group) { return 1 - std::clamp(shareOf(group), 0.0, 1.0); });
}

} // namespace tilescope::analysis
