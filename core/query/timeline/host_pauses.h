#pragma once

#include "core/model/host_samples.h"
#include "core/query/timeline/hue.h"

#include <string>
#include <vector>

namespace tilescope::query {

/// A time in which a thread does something that is not the program's usual work.
struct HostPause {
    ThreadId thread = {};
    Timestamp start{};
    Timestamp end{};
    std::string name =
        {}; ///< "garbage collection", "import torch/__init__.py", "compilation", "first time at train.py:12"
    Hue hue = Hue::Other;
};

/// The pauses of a process, by start.
///
/// Garbage collections, imports and compilations are from the first sample of each to the first sample without it, so that those
/// shorter than the period of sampling are mostly missed. A *first time* is exact: the time between two launches that takes 2 ms
/// or more, and ten times as long as it takes later, in the median, between launches with the same two stacks; there have to be
/// three later ones. O(samples log samples).
std::vector<HostPause> hostPauses(const HostSamples& samples);

} // namespace tilescope::query
