#pragma once

#include "tests/support/simulator/simulated_program.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilescope::simulator {

/// Cases that are always among the programs of consecutive seeds; the last one mixes them.
inline constexpr std::array<std::string_view, 13> kCases{
    "slow-host",   ///< the host is 3 % slower than the device
    "full-queue",  ///< the host is faster and launch calls wait
    "two-streams", ///< work on a second stream, ordered by events
    "pageable",    ///< copies of pageable memory
    "item",        ///< a value is read in the middle of a step
    "slow-loader", ///< another process loads the batches
    "allocator",   ///< cudaMalloc and cudaFree in each step
    "late-rank",   ///< one of several ranks does more
    "overlap",     ///< collectives beside the backward pass
    "graphs",      ///< replayed CUDA graphs
    "compile",     ///< the first step compiles
    "two-threads", ///< the backward pass runs on a thread of its own
    "mixed",
};

/// A training program with random durations and properties. Its case is `seed` modulo the number of cases.
SimulatedProgram randomProgram(std::uint64_t seed);

} // namespace tilescope::simulator
