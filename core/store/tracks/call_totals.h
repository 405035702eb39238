#pragma once

#include "core/store/tracks/totals.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tilescope::store {

/// An index into CallTotals::ops: none.
inline constexpr std::uint32_t kNoOpCall = std::numeric_limits<std::uint32_t>::max();

/// A group of equal calls of ops: same name, arguments, place, process and caller.
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
    std::uint32_t op = kNoOpCall; ///< the op that launched them
    bool isTraced = false;
    bool isLaunched = false; ///< the launch was recorded
    bool isReplayed = false; ///< of a CUDA graph
    std::int32_t firstStep = kNoStep;
    /// One bit per step from the first on, lowest bit of a byte first: whether the activities ran in the
    /// step. Empty: outside traced steps, or unknown.
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

/// The totals of the calls of a whole recording, by caller, in the order of their first events.
struct CallTotals {
    std::vector<OpCallTotal> ops = {};
    std::vector<ActivityTotal> activities = {};
    std::vector<AllocationTotal> allocations = {};
    /// Whether each launching call of one step has its own entry, so that work can be counted from the totals.
    bool countsWork = false;
};

} // namespace tilescope::store
