#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// What one multiprocessor of a GPU generation holds at once.
struct MultiprocessorLimits {
    int threads = 0;
    int blocks = 0;
    int sharedBytes = 0;         ///< at the largest carve-out
    int sharedReserved = 0;      ///< that the driver takes of it for each block
    int sharedGranularity = 128; ///< bytes

    static constexpr int kWarp = 32;
    static constexpr int kRegisters = 65'536;
    static constexpr int kSubPartitions = 4;
    static constexpr int kRegisterGranularity = 256; ///< registers a warp
};

/// Of a compute capability written as CUDA does ("9.0"); none for one that is not known here.
std::optional<MultiprocessorLimits> multiprocessorLimits(std::string_view computeCapability);

/// What keeps more blocks of a kernel from sharing a multiprocessor.
enum class OccupancyLimit : std::uint8_t { Threads, Blocks, Registers, SharedMemory };

std::string_view wordOf(OccupancyLimit limit); ///< threads, blocks, registers, shared memory

/// How full a kernel can make a multiprocessor: an upper bound from its launch, not a measurement.
struct Occupancy {
    int blocks = 0;   ///< that one multiprocessor holds at once
    double share = 0; ///< of its warps
    OccupancyLimit limit = OccupancyLimit::Threads;
};

/// By the rules of CUDA's occupancy calculator (cuda_occupancy.h), shared memory at its largest carve-out.
/// \return  none where the launch cannot run there, or was not recorded (no threads)
/// O(1).
std::optional<Occupancy> occupancyOf(const LaunchConfig& launch, const MultiprocessorLimits& limits);

/// Blocks of the grid over what the device holds at once: 2.3 is two full waves and a third one that leaves
/// most of it idle.
double wavesOf(const LaunchConfig& launch, const Occupancy& occupancy, int multiprocessors);

} // namespace tilescope::analysis
