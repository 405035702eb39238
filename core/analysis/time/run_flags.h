#pragma once

#include "core/model/flags.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::analysis {

/// What may have disturbed the timed steps of a run. What is not known is absent.
struct RunConditions {
    std::vector<double> warmup = {};        ///< wall of each warm-up step, ns
    std::vector<double> timed = {};         ///< wall of each timed step, ns
    std::optional<double> clockBefore = {}; ///< SM clock as the timed steps began, MHz
    std::optional<double> clockAfter = {};  ///< and as they ended
    std::vector<std::string> slowdowns =
        {}; ///< why the GPU held its clocks back, other than idling and its limits
    std::optional<double> waiting = {}; ///< share of the timed steps that a thread of ours waited for a core
    std::optional<double> stolen = {};  ///< share of the machine's time that its hypervisor gave to others
};

/// One thing that makes a run's times doubtful: `drift: …`.
struct RunFlag {
    FlagKind kind = FlagKind::WarmUpTooShort;
    std::string detail;

    std::string text() const { return flagText(kind, detail); }
};

/// The flags of a run that follow from its steps and its machine, in the order of FlagKind; none where
/// nothing is wrong.
///
/// Steadiness by steadyState() and driftOf(), on eight timed steps or more: of stationary runs fewer than one
/// in fifty is flagged. A clock counts as changed from 3 % on, a host as busy where a thread of ours was
/// ready to run but had no core for 2 % of the timed steps, or the hypervisor took 2 % of the machine. O(n^2
/// log n) as driftOf.
std::vector<RunFlag> flagsOf(const RunConditions& conditions);

} // namespace tilescope::analysis
