#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Which steps of a series stand for the program, and which do not: start-up, compilation and other outliers.
struct TypicalSteps {
    std::vector<bool> isTypical = {}; ///< by step
    /// The first step after which the times stay at another level, where too many steps would have to be left out.
    std::optional<std::size_t> changesAt = {};
    double before = 0; ///< median of the steps before that one
    double after = 0;  ///< median of that step and all after it
};

/// Separates the steps by their times.
///
/// Of 8 steps and more, those before the steady state (steadyState()) are left out if they are at another level by more than a
/// tenth, first steps that take more than 3 times as long as every later one, and single steps of more than 1.5 times the median,
/// or less than half of it, unless such steps recur at equal distances: then they belong to the program. At most a fifth of the
/// steps is left out; more than that is a change of level. Of fewer steps, only the first three can be left out: those that take
/// at least 1.5 times as long as every later typical step, or 3 times as long if only one step follows. One step at least is
/// typical.
/// \param walls  times of the steps in order, positive
/// O(n) to O(n^2) as steadyState()
TypicalSteps typicalSteps(std::span<const double> walls);

} // namespace tilescope::analysis
