#pragma once

#include "core/store/tracks/totals.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tilescope::store {

/// An index into CallTotals::ops: none.
inline constexpr std::uint32_t kNoOpCall = std::numeric_limits<std::uint32_t>::max();

/// Calls of ops that are alike: in name, arguments, place, process and in what called them.
struct OpCallTotal {
    std::uint32_t caller = kNoOpCall; ///< stands before it; none: called by no op
    StringId name = {};
    StringId shapes = {};
    StringId path = {};
    ProcessIndex process = {}; ///< none: the only one of the run
    bool isTraced = false;     ///< in a traced step
    OpId first = {};           ///< of those that launched; none: none did
    std::int64_t calls = 0;
    std::int64_t launching = 0; ///< calls within which an activity of a device was launched
    std::int64_t total = 0;     ///< ns
    std::int64_t self = 0;      ///< ns that no op inside it took
};

/// Kernels, copies or memsets of one name that such calls launched.
struct ActivityTotal : KernelTotal {
    ProcessIndex process = {};
    std::uint32_t op = kNoOpCall; ///< that launched them
    bool isTraced = false;
    bool isLaunched = false; ///< the launch was recorded
    bool isReplayed = false; ///< of a CUDA graph
    std::int32_t firstStep = kNoStep;
    /// A bit for each step from the first on, the lowest of a byte first: whether they ran in it. Empty: not in traced
    /// steps, or not known.
    std::string steps = {};

    bool knowsSteps() const { return !isTraced || !steps.empty(); }
};

/// Blocks of one category that such calls allocated, freed or not.
struct AllocationTotal {
    StringId path = {};
    StringId category = {};
    ProcessIndex process = {};
    std::uint32_t op = kNoOpCall;
    bool isTraced = false;
    bool isOnGpu = false;
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
};

/// What the calls of a whole recording add up to, by what called them. In the order of their first events.
struct CallTotals {
    std::vector<OpCallTotal> ops = {};
    std::vector<ActivityTotal> activities = {};
    std::vector<AllocationTotal> allocations = {};
    /// Each call that launched stands for itself in one step, so that work can be counted from the totals.
    bool countsWork = false;
};

} // namespace tilescope::store
