#pragma once

#include "core/analysis/ranks/matched_collectives.h"
#include "core/base/units.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// When each step of each process begins (StepWalls).
using StepStarts = std::map<std::pair<ProcessIndex, std::int32_t>, Timestamp>;

/// How long a collective took, and who kept the others waiting.
struct CollectiveTiming {
    /// The shortest duration among the ranks: the one that started last waited for nobody. None if fewer than two ranks
    /// were recorded or their times do not overlap: waiting and transfer cannot be separated then.
    std::optional<Nanoseconds> transfer = {};
    /// Index of the part that started last, by a positive time; none where `transfer` is none or parts are missing.
    std::optional<std::size_t> last = {};
    Nanoseconds behind{0};               ///< its start minus the second-to-last start
    Nanoseconds late{0};                 ///< what of it began here, after the collective before
    std::vector<Nanoseconds> waits = {}; ///< by part: from its start to the last start, at most its duration

    Nanoseconds wait() const; ///< sum of `waits`
};

/// A collective that starts this soon after another one of its rank, and was launched before that one ended, may have
/// waited for it: the rank may have been ready earlier than the start says.
inline constexpr Nanoseconds kQueuedWithin{200'000};

/// Times the collectives and counts lateness once, where it began.
///
/// A rank that is 2 ms late is so at every collective until it catches up. Therefore `late` is the part of `behind` that
/// exceeds the rank's lateness among the same ranks so far. That is its `behind` of the collective before if it was last
/// there, too. If the second-to-last rank had queued that collective behind another one (kQueuedWithin), the rank may have
/// been later than `behind` says, and its lateness so far stays at least as large. At the first collective of a step it is
/// not more than the lateness with which the rank began the step.
///
/// \param collectives  as from matchCollectives()
/// \return             one for each
/// O(n log n).
std::vector<CollectiveTiming> timeCollectives(std::span<const MatchedCollective> collectives,
                                              const StepStarts& starts);

} // namespace tilescope::analysis
