#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilescope::trace {

/// Which ranges a step launches kernels from.
struct LaunchList {
    std::vector<std::string> paths;                ///< of each launch in order; empty outside any range
    std::map<std::string, std::int64_t> instances; ///< how often each range was entered
};

} // namespace tilescope::trace
