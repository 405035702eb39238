#include "core/exchange/import/rules/host_nesting.h"

#include <algorithm>

namespace tilescope::exchange {

HostNesting::Place HostNesting::around(std::int64_t start, std::int64_t end, RuleWork& work)
{
    ++work.rows;
    while (!open_.empty() && open_.back().end <= start) {
        open_.pop_back();
        ++work.comparisons;
    }
    // Most events lie within the innermost open one.
    if (open_.empty() || open_.back().end >= end)
        return open_.empty() ? Place{} : open_.back().place;
    const auto contains = [&](const Open& outer) {
        ++work.comparisons;
        return outer.end >= end;
    };
    const auto first = std::partition_point(open_.begin(), open_.end(), contains);
    return first == open_.begin() ? Place{} : std::prev(first)->place;
}

void HostNesting::open(std::int64_t end, Layer layer, Place inner, RuleWork& work)
{
    ++inner.depth[layer];
    while (!open_.empty() && open_.back().end <= end) {
        open_.pop_back();
        ++work.comparisons;
    }
    open_.push_back({end, inner});
}

} // namespace tilescope::exchange
