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

} // namespace tilescope::query
