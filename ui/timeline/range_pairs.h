#pragma once

#include "core/query/timeline/hue.h"
#include "core/query/timeline/timeline.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// The same range in two runs: step/forward/layers.0 of the first step in both. Times are those of each
/// timeline.
struct RangePair {
    query::TimelineItem a, b;
    std::int64_t fromA = 0, toA = 0;
    std::int64_t fromB = 0, toB = 0;
    int depth = 0; ///< components of its path: 1 for a step, 2 for a phase
    query::Hue hue = query::Hue::Range;

    std::int64_t difference() const { return (toB - fromB) - (toA - fromA); }
};

/// Ranges that both runs have, the n-th of a path with the n-th of that path; by start in A. O(ranges).
std::vector<RangePair> pairRanges(const query::Timeline& a, const query::Timeline& b);

/// The range of `b` that is paired with `item`, a range of `a`; none if `b` has none.
std::optional<query::TimelineItem> pairOf(const query::Timeline& a, const query::TimelineItem& item,
                                          const query::Timeline& b);

/// The paths below a step that runs can be aligned at, in the order in which they first start, each once. O(ranges).
/// \param most  maximum number of pairs
std::vector<std::string_view> pathsToAlignAt(const query::Timeline& timeline, std::size_t most);

/// Start and end of the first range of that path that starts within a stretch.
std::optional<std::pair<std::int64_t, std::int64_t>>
firstOf(const query::Timeline& timeline, std::string_view path, std::int64_t from, std::int64_t to);

} // namespace tilescope::ui
