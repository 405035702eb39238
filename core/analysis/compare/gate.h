#pragma once

#include "core/analysis/compare/run_comparison.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::analysis {

enum class GateOutcome : std::uint8_t {
    Passed,   ///< the slowdown is at most the allowed one: the interval ends at or below the limit
    Exceeded, ///< the slowdown is larger: the interval begins above the limit
    Undecided ///< the interval contains the limit, or there is no interval
};

std::string_view wordOf(GateOutcome outcome); ///< passed, exceeded, undecided

/// A limit for the slowdown of B against A, applied to the 95 % interval of the ratio of their steps.
struct Gate {
    double allowed = 0; ///< a fraction: 0.03 allows a ratio of 1.03
    GateOutcome outcome = GateOutcome::Undecided;
    /// For an undecided gate: the repeats per side that would probably decide it at the same ratio. None above 50, or
    /// without timed steps.
    std::optional<std::int64_t> repeats = {};
    bool needsTurns = false; ///< they must be taken in turn, which these were not
};

/// \param step     null: the runs have no step times to compare
/// \param allowed  at least 0
Gate gateOf(const TimeDifference* step, double allowed);

/// The outcome in one sentence.
std::string sentenceOf(const Gate& gate);

} // namespace tilescope::analysis
