#pragma once

#include "core/query/timeline/timeline.h"

#include <functional>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A matching box.
struct FoundItem {
    TimelineItem item;
    std::int64_t start = 0;
    std::int64_t length = 0;
};

/// The result of a search so far.
struct SearchResult {
    std::vector<FoundItem> items; ///< longest first once complete; at most kMostFound
    std::int64_t kernels = 0;     ///< all matches, whether listed or not
    std::int64_t ops = 0;
    std::int64_t ranges = 0;
    std::int64_t frames = 0; ///< calls in Python stacks

    static constexpr std::size_t kMostFound = 10'000;
    std::int64_t total() const { return kernels + ops + ranges + frames; }
};

/// Finds kernels, ops, ranges and calls whose name or label contains `text` (case-insensitive), longest first.
///
/// Evaluates each distinct name once, then reads four bytes per event. Empty if cancelled.
SearchResult search(const Timeline& timeline, std::string_view text, const std::function<bool()>& cancelled);

} // namespace tilescope::query
