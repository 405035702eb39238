#pragma once

#include "core/query/calls/call_tree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// Two call trees in one. Stacks are equal if their names and kinds are.
///
/// Amounts are means of a traced step if both runs have traced steps, otherwise of the whole recording.
struct CallTreeDifference {
    /// Every stack of either side. The amount at its end is the larger one of A and B, so that no box of a flame
    /// graph vanishes; the count is that of B.
    CallTreeTable joined = {};
    store::RunRecord a = {}; ///< the baseline; `joined.run` is B's
    std::int64_t stepsA = 1;
    std::int64_t stepsB = 1;
    HiddenCalls hiddenA = {}; ///< by filters; the amount as those of the tree
    HiddenCalls hiddenB = {};
    std::vector<std::int64_t> selfA = {}; ///< by node of `joined`: what ends there
    std::vector<std::int64_t> selfB = {};
    std::vector<std::int64_t> totalA = {}; ///< with what is below
    std::vector<std::int64_t> totalB = {};
    std::vector<std::int64_t> countA = {};
    std::vector<std::int64_t> countB = {};

    bool isPerStep() const { return !joined.whole; }
};

/// \param options  the scope is chosen as described above
/// \param spanB    the time span of B if it is not that of `options`
/// \param cancelled  as callTree()
/// \throws Error  as callTree(); one run has GPU activities and the other has none
CallTreeDifference callTreeDifference(
    const store::RunReader& a, const EventQuery& queryA, const store::RunReader& b, const EventQuery& queryB,
    CallTreeOptions options = {}, bool isInverted = false, const std::optional<TimeSpan>& spanB = {},
    const std::function<bool()>& cancelled = [] { return false; });

/// A stack of either side as a row of a table.
struct CallTreeDifferenceRow : CallPlace {
    std::int64_t a = 0; ///< with what is below
    std::int64_t b = 0;
    std::int64_t selfChange = 0; ///< B - A of what ends here; the rows add up to the change of the roots
    std::int64_t countA = 0;     ///< in all steps
    std::int64_t countB = 0;

    std::int64_t change() const { return b - a; }
};

/// The rows in depth-first order, of equal parents the largest change first.
/// \param most  keep only this many nodes, those with the largest amounts; 0: all
std::vector<CallTreeDifferenceRow> rowsOf(const CallTreeDifference& difference, std::size_t most = 0);

} // namespace tilescope::query
