#include "core/analysis/kernels/occupancy.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

namespace {

struct Generation {
    std::string_view capability;
    MultiprocessorLimits limits;
};

constexpr int kKiB = 1024;

// CUDA C++ Programming Guide, Technical Specifications per Compute Capability.
constexpr std::array<Generation, 12> kGenerations{{
    {"7.0", {2048, 32, 96 * kKiB, 0, 256}},
    {"7.2", {2048, 32, 96 * kKiB, 0, 256}},
    {"7.5", {1024, 16, 64 * kKiB, 0, 256}},
    {"8.0", {2048, 32, 164 * kKiB, kKiB, 128}},
    {"8.6", {1536, 16, 100 * kKiB, kKiB, 128}},
    {"8.7", {1536, 16, 164 * kKiB, kKiB, 128}},
    {"8.9", {1536, 24, 100 * kKiB, kKiB, 128}},
    {"9.0", {2048, 32, 228 * kKiB, kKiB, 128}},
    {"10.0", {2048, 32, 228 * kKiB, kKiB, 128}},
    {"10.3", {2048, 32, 228 * kKiB, kKiB, 128}},
    {"12.0", {1536, 24, 100 * kKiB, kKiB, 128}},
    {"12.1", {1536, 24, 100 * kKiB, kKiB, 128}},
}};

constexpr std::int64_t roundUp(std::int64_t value, std::int64_t granularity)
{
    return (value + granularity - 1) / granularity * granularity;
}

std::int64_t volumeOf(const std::array<std::uint32_t, 3>& extent)
{
    return std::int64_t{extent[0]} * extent[1] * extent[2];
}

} // namespace

std::optional<MultiprocessorLimits> multiprocessorLimits(std::string_view computeCapability)
{
    for (const Generation& generation : kGenerations)
        if (generation.capability == computeCapability)
            return generation.limits;
    return {};
}

std::string_view wordOf(OccupancyLimit limit)
{
    static constexpr std::array<std::string_view, 4> kWords{"threads", "blocks", "registers",
                                                            "shared memory"};
    return kWords[static_cast<std::size_t>(limit)];
}

std::optional<Occupancy> occupancyOf(const LaunchConfig& launch, const MultiprocessorLimits& limits)
{
    using Limits = MultiprocessorLimits;
    const std::int64_t threads = volumeOf(launch.block);
    if (threads <= 0)
        return {};
    const std::int64_t warps = (threads + Limits::kWarp - 1) / Limits::kWarp;
    const std::int64_t warpsHeld = limits.threads / Limits::kWarp;

    std::array<std::int64_t, 4> fits{};
    fits[std::size_t(OccupancyLimit::Threads)] = warpsHeld / warps;
    fits[std::size_t(OccupancyLimit::Blocks)] = limits.blocks;
    // Each sub-partition has its own registers, and a warp uses those of one sub-partition.
    const std::int64_t registers =
        roundUp(std::int64_t{launch.registersPerThread} * Limits::kWarp, Limits::kRegisterGranularity);
    const std::int64_t warpsByRegisters =
        registers > 0 ? Limits::kRegisters / Limits::kSubPartitions / registers * Limits::kSubPartitions
                      : warpsHeld;
    fits[std::size_t(OccupancyLimit::Registers)] = warpsByRegisters / warps;
    const std::int64_t shared =
        roundUp(std::int64_t{launch.staticShared} + limits.sharedReserved + launch.dynamicShared,
                limits.sharedGranularity);
    fits[std::size_t(OccupancyLimit::SharedMemory)] =
        shared > 0 ? limits.sharedBytes / shared : limits.blocks;

    const auto least = std::min_element(fits.begin(), fits.end());
    if (*least <= 0)
        return {};
    return Occupancy{static_cast<int>(*least),
                     static_cast<double>(*least * warps) / static_cast<double>(warpsHeld),
                     static_cast<OccupancyLimit>(least - fits.begin())};
}

double wavesOf(const LaunchConfig& launch, const Occupancy& occupancy, int multiprocessors)
{
    const double atOnce = static_cast<double>(occupancy.blocks) * multiprocessors;
    return atOnce > 0 ? static_cast<double>(volumeOf(launch.grid)) / atOnce : 0;
}

} // namespace tilescope::analysis
