#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/analysis/time/text_of.h"
#include "core/model/topology_index.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// The part of one rank in a collective.
struct CollectivePart {
    std::size_t record = 0; ///< index into the matched records
    ProcessIndex process = {};
    std::optional<std::int32_t> rank = {};
    std::int32_t step = kNoStep;
    Interval time{};      ///< of its kernel or, on a CPU, of its call; on the run's time axis
    Timestamp launched{}; ///< when the host launched the kernel; epoch: unknown
};

/// One collective, with the part of each recorded rank.
struct MatchedCollective {
    StringId op = {};
    StringId group = {};
    StringId ranks = {};        ///< of the group; none: unknown
    std::int64_t sequence = -1; ///< within the group
    std::int64_t bytes = -1;    ///< message size of one rank; -1: unknown, or the ranks disagree
    std::int32_t groupSize = 0; ///< 0: unknown
    std::int32_t step = kNoStep;
    std::vector<CollectivePart> parts = {}; ///< by rank
    std::vector<std::int32_t> missing = {}; ///< ranks of the group without a record, ascending
    std::int32_t missingCount = 0;          ///< may be known even if `missing` is not

    bool isComplete() const { return missingCount == 0; }
    /// Whether all parts overlap in time. They do, unless the collective lets a rank leave before others
    /// arrive, as broadcast and reduce may.
    bool overlaps() const;
};

/// Matches the records of ranks that belong to one collective: those with the same group, ranks of the group,
/// op and number within the group. Point-to-point operations (`peer` is known) are left out.
/// \param launches  launch times of the kernels of `records`; epoch: unknown; may be empty
/// \param topology   knows the ranks of the processes
/// \param textOf    resolves the ranks of a group, "0,1,2,3"
/// \return          the collectives by the start of their first part
/// O(n log n).
std::vector<MatchedCollective> matchCollectives(std::span<const Collective> records,
                                                std::span<const Timestamp> launches,
                                                const TopologyIndex& topology, const TextOf& textOf);

} // namespace tilescope::analysis
