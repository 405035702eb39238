#pragma once

#include "core/query/advice/answers.h"
#include "core/query/ranks/rank_tables.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::query {

/// A question about all ranks of a run; the answers are made from its whole table.
struct RankQuestion {
    std::string_view name;
    std::string_view text;
    Answer (*answer)(const RanksTable& ranks);
    std::string_view section; ///< of `show` with the rows behind it
};

/// exposed-communication, late-rank, link-use, gather-in-time.
std::span<const RankQuestion> rankQuestions();

/// How the all-gathers of a run ended before or after they were needed.
struct GatherTotals {
    std::int64_t gathers = 0;             ///< with known slack
    std::int64_t late = 0;                ///< gathers that a stream waited for
    Nanoseconds stall{0};                 ///< the longest of each late gather, in all
    const CollectiveRow* worst = nullptr; ///< longest stall, else least slack; null without gathers
};
GatherTotals gatherTotals(const RanksTable& ranks);

} // namespace tilescope::query
