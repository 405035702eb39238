#pragma once

#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Why a warp did not issue an instruction at a sampled instant, or that it did.
struct StallReason {
    std::string_view key;      ///< as CUPTI names it, without what all names begin with: long_scoreboard
    std::string_view name;     ///< in few words: waits for device memory
    std::string_view sentence; ///< what the warp does
    std::string_view remedy;   ///< the usual one; empty: none is needed
    bool isStall = true;       ///< false: the warp issues, or could have
};

/// What a reason means; for one that is not known, its key in words and no remedy. Sources: the documentation of the
/// metrics smsp__pcsamp_… of Nsight Compute, and measurements on an H100 and an H200.
StallReason stallReason(std::string_view key);

} // namespace tilescope::analysis
