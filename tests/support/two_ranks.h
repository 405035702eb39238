#pragma once

#include "core/model/processes.h"

#include <cstdint>

namespace tilescope::testing {

/// Two ranks on one host, each with a process (pid 100 and 101), a GPU and a stream of its own.
/// \param firstStream  the identifier of the stream of rank 0; that of rank 1 is the next
inline RunTopology twoRanks(std::uint32_t firstStream)
{
    RunTopology topology;
    topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
    for (std::int16_t rank = 0; rank < 2; ++rank) {
        topology.processes.push_back({.id = ProcessIndex{rank},
                                      .pid = 100 + rank,
                                      .host = "node",
                                      .name = "python",
                                      .rank = rank,
                                      .worldSize = 2,
                                      .clock = ClockIndex{0}});
        topology.devices.push_back({.id = DeviceIndex{rank}, .ordinal = rank});
        topology.streams.push_back({.device = DeviceIndex{rank},
                                    .id = StreamId{firstStream + static_cast<std::uint32_t>(rank)},
                                    .process = ProcessIndex{rank},
                                    .native = 7});
    }
    return topology;
}

} // namespace tilescope::testing
