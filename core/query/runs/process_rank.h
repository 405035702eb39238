#pragma once

#include "core/model/party_index.h"

#include <cstdint>
#include <optional>

namespace tilescope::query {

/// The rank of a process; of none, that of a run's only process.
inline std::optional<std::int32_t> rankOf(const PartyIndex& parties, ProcessIndex process)
{
    const std::vector<TracedProcess>& all = parties.parties().processes;
    return process || all.empty() ? parties.rankOf(process) : all.front().rank;
}

/// How programs distinguish processes, also those without a rank.
struct ProcessNumbers {
    std::optional<std::int32_t> process = {}; ///< in the run, from 0; none: the run has no processes
    std::optional<std::int64_t> pid = {};     ///< none: unknown
};

/// Of a process; of none, those of a run's only process.
inline ProcessNumbers numbersOf(const PartyIndex& parties, ProcessIndex process)
{
    const std::vector<TracedProcess>& all = parties.parties().processes;
    const TracedProcess* const found = process           ? parties.find(process)
                                       : all.size() == 1 ? &all.front()
                                                         : nullptr;
    if (!found)
        return {};
    return {found->id.value, found->pid > 0 ? std::optional(found->pid) : std::nullopt};
}

} // namespace tilescope::query
