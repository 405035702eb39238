#pragma once

#include "core/model/flags.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::analysis {

/// Conditions that may have disturbed the timed steps of a run. Unknown values are absent.
struct RunConditions {
    std::vector<double> warmup = {};        ///< wall time of each warm-up step, ns
    std::vector<double> timed = {};         ///< wall time of each timed step, ns
    std::optional<double> clockBefore = {}; ///< SM clock at the start of the timed steps, MHz
    std::optional<double> clockAfter = {};  ///< SM clock at their end, MHz
    std::vector<std::string> slowdowns =
        {};                             ///< reasons for reduced GPU clocks, except idling and ordinary limits
    std::optional<double> waiting = {}; ///< share of the timed steps in which a thread of this process
                                        ///< waited for a core
    std::optional<double> stolen = {};  ///< share of the machine's time that the hypervisor gave to
                                        ///< other machines
};

/// A reason to doubt a run's times: `drift: …`.
struct RunFlag {
    FlagKind kind = FlagKind::WarmUpTooShort;
    std::string detail;

    std::string text() const { return flagText(kind, detail); }
};

/// The flags of a run that follow from its steps and its machine, in the order of FlagKind.
///
/// steadyState() and driftOf() check steadiness for eight or more timed steps; they flag fewer than one in
/// fifty stationary runs. A clock counts as changed from a difference of 3 % on. A host counts as busy if a
/// thread of this process was ready but had no core for 2 % of the timed steps, or if the hypervisor took 2 %
/// of the machine. O(n^2 log n), like driftOf().
std::vector<RunFlag> flagsOf(const RunConditions& conditions);

} // namespace tilescope::analysis
