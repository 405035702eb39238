#include "core/analysis/path/path_part.h"

#include <algorithm>
#include <numeric>

namespace tilescope::analysis {

std::string_view wordOf(PathPart part)
{
    constexpr std::array<std::string_view, kPathParts> kWords{
        "host",          "launch",       "compute",         "memory",
        "communication", "data-loading", "synchronization", "unexplained"};
    return kWords[static_cast<std::size_t>(part)];
}

Nanoseconds PathParts::sum() const
{
    return std::accumulate(times_.begin(), times_.end(), Nanoseconds(0));
}

PathPart PathParts::largest() const
{
    return static_cast<PathPart>(std::ranges::max_element(times_) - times_.begin());
}

} // namespace tilescope::analysis
