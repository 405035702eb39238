#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// Resources of one multiprocessor of a GPU generation.
struct MultiprocessorLimits {
    int threads = 0;
    int blocks = 0;
    int sharedBytes = 0;         ///< with the largest carve-out
    int sharedReserved = 0;      ///< reserved by the driver for each block
    int sharedGranularity = 128; ///< bytes

    static constexpr int kWarp = 32;
    static constexpr int kRegisters = 65'536;
    static constexpr int kSubPartitions = 4;
    static constexpr int kRegisterGranularity = 256; ///< registers per warp
};

/// The limits for a compute capability in CUDA's notation ("9.0"); none if unknown.
std::optional<MultiprocessorLimits> multiprocessorLimits(std::string_view computeCapability);

/// The resource that limits the number of blocks per multiprocessor.
enum class OccupancyLimit : std::uint8_t { Threads, Blocks, Registers, SharedMemory };

std::string_view wordOf(OccupancyLimit limit); ///< threads, blocks, registers, shared memory

/// An upper bound of a kernel's occupancy, computed from its launch; not a measurement.
struct Occupancy {
    int blocks = 0;   ///< resident on one multiprocessor at once
    double share = 0; ///< of the multiprocessor's warps
    OccupancyLimit limit = OccupancyLimit::Threads;
};

/// Follows CUDA's occupancy calculator (cuda_occupancy.h), with the largest shared-memory carve-out.
/// \return  none if the launch is impossible on that device or was not recorded (no threads)
/// O(1).
std::optional<Occupancy> occupancyOf(const LaunchConfig& launch, const MultiprocessorLimits& limits);

/// Blocks of the grid / blocks resident on the device at once. 2.3 means two full waves and a third that
/// leaves most of the device idle.
double wavesOf(const LaunchConfig& launch, const Occupancy& occupancy, int multiprocessors);

} // namespace tilescope::analysis
