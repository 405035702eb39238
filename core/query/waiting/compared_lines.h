#pragma once

#include "core/query/waiting/waiting_table.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A line of code in two runs. Without one, what the host did: a cause.
struct ComparedLine {
    std::optional<CodeLine> line = {};
    std::string cause = {};       ///< with most of the time, in A if it is there
    std::optional<double> a = {}; ///< idle time of a mean step, ns; none: the run has no such row
    std::optional<double> b = {};

    /// B - A in ns.
    double change() const { return b.value_or(0) - a.value_or(0); }
};

/// The rows of two tables of lines: those of A in its order, then those that only B has. Lines are the same if file, number and
/// function are.
std::vector<ComparedLine> comparedLines(const WaitingTable& a, const WaitingTable& b);

} // namespace tilescope::query
