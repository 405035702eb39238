#pragma once

#include "core/model/topology_index.h"

#include <cstdint>
#include <optional>

namespace tilescope::query {

/// The rank of a process; of none, that of a run's only process.
inline std::optional<std::int32_t> rankOf(const TopologyIndex& topology, ProcessIndex process)
{
    const std::vector<TracedProcess>& all = topology.topology().processes;
    return process || all.empty() ? topology.rankOf(process) : all.front().rank;
}

/// How programs distinguish processes, also those without a rank.
struct ProcessNumbers {
    std::optional<std::int32_t> process = {}; ///< in the run, from 0; none: the run has no processes
    std::optional<std::int64_t> pid = {};     ///< none: unknown
};

/// Of a process; of none, those of a run's only process.
inline ProcessNumbers numbersOf(const TopologyIndex& topology, ProcessIndex process)
{
    const std::vector<TracedProcess>& all = topology.topology().processes;
    const TracedProcess* const found = process           ? topology.find(process)
                                       : all.size() == 1 ? &all.front()
                                                         : nullptr;
    if (!found)
        return {};
    return {found->id.value, found->pid > 0 ? std::optional(found->pid) : std::nullopt};
}

/// The process that a row of a table is of, as programs read it. Members have no value for several processes.
struct RowProcess {
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
};

inline RowProcess rowProcess(const TopologyIndex& topology, ProcessIndex process)
{
    const ProcessNumbers numbers = numbersOf(topology, process);
    return {numbers.process ? rankOf(topology, process) : std::nullopt, numbers};
}

} // namespace tilescope::query
