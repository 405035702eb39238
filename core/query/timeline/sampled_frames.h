#pragma once

#include "core/model/host_samples.h"

#include <string>
#include <vector>

namespace tilescope::query {

/// A call that consecutive samples of a thread share: from the first of them to the first sample without it.
struct SampledFrame {
    ThreadId thread = {};
    Timestamp start{};
    Timestamp end{};
    std::string function =
        {}; ///< as HostStack::function; or what the thread did at the innermost call: "garbage collection"
};

/// The calls of a process as its samples between launches show them, by start, outer ones first. Samples that are far
/// apart end them. O(samples x depth).
std::vector<SampledFrame> sampledFrames(const HostSamples& samples);

} // namespace tilescope::query
