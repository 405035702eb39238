#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// The self time of each op: its duration minus the durations of its direct children.
///
/// \param ops  in any order, with unique ids. Parents may be missing.
/// \return     one per op, in the same order; never negative. If a child seems to outlive its parent, because
///             its end was read later from the clock, it takes at most the time that the parent has
///             left.
/// O(n).
std::vector<Nanoseconds> selfTimes(std::span<const Op> ops);

/// The total host time of the ops of one group.
struct OpTotal {
    std::uint32_t group = 0;
    std::int64_t instances = 0;
    Nanoseconds total{0}; ///< an op inside another of its group adds nothing: its time is already counted
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
    /// Returns the totals, most self time first, then by group. Ends all open ops; call it once, last.
    std::vector<OpTotal> finish();

private:
    struct Open {
        OpId id;
        Timestamp end{};
        Nanoseconds duration{0};
        Nanoseconds children{0};
        std::optional<std::uint32_t> group;
        bool hasParent = false; ///< its parent is below it on the stack
        bool nested = false;    ///< one of its ancestors is of the same group
    };
    using Stack = std::vector<Open>;
    void leave(Stack& stack);

    std::unordered_map<ThreadId, Stack> stacks_;
    std::unordered_map<std::uint32_t, OpTotal> totals_;
};

} // namespace tilescope::analysis
