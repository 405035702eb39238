#include "core/analysis/compare/gate.h"

#include "core/base/quantity.h"

#include <array>

namespace tilescope::analysis {

std::string_view wordOf(GateOutcome outcome)
{
    static constexpr std::array<std::string_view, 3> words{"passed", "exceeded", "undecided"};
    return words[static_cast<std::size_t>(outcome)];
}

Gate gateOf(const TimeDifference* step, double allowed)
{
    Gate gate{.allowed = allowed};
    if (!step)
        return gate;
    const double limit = 1 + allowed;
    if (const auto& interval = step->ratio95) {
        if (interval->high <= limit)
            gate.outcome = GateOutcome::Passed;
        else if (interval->low > limit)
            gate.outcome = GateOutcome::Exceeded;
    }
    if (gate.outcome == GateOutcome::Undecided) {
        gate.repeats = step->repeatsFor(limit);
        gate.needsTurns = !step->between.inTurn && step->between.source != BetweenRuns::Source::Given;
    }
    return gate;
}

std::string sentenceOf(const Gate& gate)
{
    const std::string limit = quantity::threeDigits(100 * gate.allowed) + " %";
    switch (gate.outcome) {
    case GateOutcome::Passed:
        return "Gate passed: B is at most " + limit + " slower than A.";
    case GateOutcome::Exceeded:
        return "Gate exceeded: B is more than " + limit + " slower than A.";
    case GateOutcome::Undecided:
        break;
    }
    const std::string undecided =
        "Gate undecided: these runs do not show whether B is more than " + limit + " slower than A.";
    if (!gate.repeats)
        return undecided;
    return undecided + " " +
           (gate.needsTurns ? measureInTurn(*gate.repeats)
                            : "Repeat both " + std::to_string(*gate.repeats) + " times to decide.");
}

} // namespace tilescope::analysis
