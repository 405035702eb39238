#pragma once

#include "core/query/timeline/timeline.h"

#include <functional>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A box whose name was asked for.
struct FoundItem {
    TimelineItem item;
    std::int64_t start = 0;
    std::int64_t length = 0;
};

/// What a search found so far.
struct SearchResult {
    std::vector<FoundItem> items; ///< the costliest first once complete; at most kMostFound
    std::int64_t kernels = 0;     ///< all that match, shown or not
    std::int64_t ops = 0;
    std::int64_t ranges = 0;

    static constexpr std::size_t kMostFound = 10'000;
    std::int64_t total() const { return kernels + ops + ranges; }
};

/// Boxes whose name or label contains `text` (letters of either case): kernels, ops and ranges, the longest
/// first.
///
/// Looks at each distinct name once, then at four bytes an event. Empty where cancelled.
SearchResult search(const Timeline& timeline, std::string_view text, const std::function<bool()>& cancelled);

} // namespace tilescope::query
