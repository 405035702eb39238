#pragma once

#include "tests/support/simulator/simulated_program.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilescope::simulator {

/// A data-parallel program of many ranks on several hosts, some of which are slow in every step.
struct Fleet {
    std::size_t ranks = 1'000;
    std::size_t ranksPerHost = 8;
    std::int64_t steps = 20;
    std::size_t slowRank = 137;  ///< its host code takes `rankDelay` more in each step
    Duration rankDelay{400'000}; ///< 0: none is slow
    std::size_t slowHost = 40;   ///< likewise all of its ranks
    Duration hostDelay{0};
    Duration skew{3'000'000}; ///< clocks of hosts are ahead by up to this
    std::uint64_t seed = 1;

    std::size_t hostOf(std::size_t rank) const { return rank / ranksPerHost; }
};

/// Each step has two kernels and an all-reduce of all ranks, twice, and ends with the last of them.
SimulatedProgram fleetProgram(const Fleet& fleet);

/// The name that torch.profiler.tensorboard_trace_handler() gives the recording of a rank: host, process, time.
std::string recordingName(const Fleet& fleet, const SimulatedProgram& program, std::size_t rank);

} // namespace tilescope::simulator
