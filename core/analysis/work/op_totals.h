#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// Time of each op that no op inside it took: its duration less that of its direct children.
///
/// \param ops  in any order; ids unique, parents among them or not (a parent that is missing takes nothing)
/// \return     one per op, in the same order; never negative (a child that outlives its parent, on a clock
/// that was
///             read twice, takes no more than the parent has)
/// O(n).
std::vector<Nanoseconds> selfTimes(std::span<const Op> ops);

/// What the ops of one group took together on the host.
struct OpTotal {
    std::uint32_t group = 0;
    std::int64_t instances = 0;
    Nanoseconds total{0}; ///< an op inside another of its group adds nothing: its time is there already
    Nanoseconds self{0};

    Nanoseconds average() const { return total / instances; }
};

/// Adds up ops one by one. Memory is limited to the open ops of each thread.
///
/// An op whose parent ended before it started counts as one without a parent.
class OpTotals {
public:
    /// \param group  the op's group; none: it affects only its parent's self time
    /// \pre ops are in start order, a parent before its children
    void add(const Op& op, std::optional<std::uint32_t> group);
    /// The most self time first; equal ones by group. Ends all ops: nothing may be added after.
    std::vector<OpTotal> finish();

private:
    struct Open {
        OpId id;
        Timestamp end{};
        Nanoseconds duration{0};
        Nanoseconds children{0};
        std::optional<std::uint32_t> group;
        bool hasParent = false; ///< the one below it on the stack
        bool nested = false;    ///< an op of its group is above it in the tree
    };
    using Stack = std::vector<Open>;
    void leave(Stack& stack);

    std::unordered_map<ThreadId, Stack> stacks_;
    std::unordered_map<std::uint32_t, OpTotal> totals_;
};

} // namespace tilescope::analysis
