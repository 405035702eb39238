#pragma once

#include "core/analysis/ranks/straggler.h"
#include "core/analysis/time/busy_time.h"
#include "core/query/ranks/rank_tables.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::query {

/// A stretch of time in which a rank waits.
struct RankDelay {
    analysis::Interval time{};
    std::string name = {};  ///< of the late rank, or of the kernel that needs a gather
    std::string place = {}; ///< of the collective: layers.3/ffn
};

/// The times in which ranks wait for other ranks, for advice.
struct RankDelays {
    /// Those of one rank.
    struct Waiting {
        std::vector<RankDelay> forOthers = {};  ///< within collectives, for the rank that starts last
        std::vector<RankDelay> forGathers = {}; ///< a stream stands still for an all-gather
    };

    analysis::StragglerVerdict straggler = {};
    std::string stragglerName = {};
    std::vector<Waiting> ranks = {}; ///< as they were asked for; empty without collectives
};

/// \param table  of the whole run
/// \param ranks  whose waiting counts; none: the lowest that takes part in each collective
RankDelays rankDelays(const RanksTable& table, std::span<const std::optional<std::int32_t>> ranks);

} // namespace tilescope::query
