#pragma once

#include "core/engine/common/device.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/cpu_ranks.h"
#include "core/engine/ranks/gpu_ranks.h"
#include "core/rendezvous/rank_hub.h"
#include "core/rendezvous/rank_memory.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace tilescope::engine::test {

/// Where ranks run: on the CPU, there as if on several hosts, or each on a GPU of its own.
enum class Where { Cpu, CpuOfHosts, Gpus };

inline Device deviceOf(Where where, int rank)
{
    return Device(where != Where::Gpus ? at::Device(at::kCPU)
                                       : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(rank)));
}

/// Whether this machine has a device for each rank.
inline bool hasDevices(Where where, int size)
{
    if (where != Where::Gpus)
        return true;
    if (!at::hasCUDA() || at::cuda::device_count() < size)
        return false;
    initializeCuda();
    return true;
}

/// Runs `work` on a thread per rank: threads of one process share memory like processes.
inline void onRanks(int size, const std::function<void(Ranks&)>& work, Where where = Where::Cpu)
{
    const rendezvous::RankMemory memory;
    std::optional<rendezvous::RankHub> hub;
    if (where == Where::CpuOfHosts)
        hub.emplace();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
            const RankInfo rankInfo{.rank = rank,
                                    .size = size,
                                    .group = memory.name(),
                                    .memory = memory.path(),
                                    .timeout = std::chrono::minutes(10),
                                    .hub = hub ? hub->address() : HubAddress()};
            const Device device = deviceOf(where, rank);
            const DeviceScope current(device);
            at::set_num_threads(1); // of this rank; more only spin against each other on work this small
            const auto ranks = where == Where::Gpus ? joinOnGpus(rankInfo, device, CollectiveMeans::Nccl)
                                                    : joinOnCpu(rankInfo);
            work(*ranks);
        });
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace tilescope::engine::test
