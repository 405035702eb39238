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

/// When the host of each process begins to work for each step: where the step begins (StepWalls) or, if it waits for its GPU then,
/// once that has ended.
using StepStarts = std::map<std::pair<ProcessIndex, std::int32_t>, Timestamp>;

/// How long a collective took, and which rank the others waited for.
struct CollectiveTiming {
    /// The shortest duration among the ranks: the rank that started last did not wait. None if fewer than two
    /// ranks were recorded or their times do not overlap, because waiting and transfer cannot be separated then.
    std::optional<Nanoseconds> transfer = {};
    /// Index of the part that started last; none if two started last, `transfer` is none or parts are missing.
    std::optional<std::size_t> last = {};
    Nanoseconds behind{0};               ///< its start minus the second-to-last start
    Nanoseconds late{0};                 ///< the part of `behind` that arose since the previous collective
    std::vector<Nanoseconds> waits = {}; ///< by part: from its start to the last start, at most its duration

    Nanoseconds wait() const; ///< sum of `waits`
};

/// A collective that was launched before the previous one of its rank ended, and starts at most this long
/// after that end, may have waited for it. The rank may then have been ready before the start.
inline constexpr Nanoseconds kQueuedWithin{200'000};

/// Times the collectives and counts lateness once, in the collective where it arose.
///
/// A rank that is 2 ms late stays 2 ms late at every collective until it catches up. Therefore `late` is the part
/// of `behind` that exceeds the rank's lateness so far among the same ranks. The lateness so far is `behind` of the
/// previous collective if the rank was last there, too. If the second-to-last rank had queued that collective
/// behind another one (kQueuedWithin), the rank may have been later than `behind` says, so its lateness so far does
/// not decrease. At the first collective of a step, it is at most the lateness with which the rank began the step.
///
/// \param collectives  a result of matchCollectives()
/// \return             one timing per collective
/// O(n log n).
std::vector<CollectiveTiming> timeCollectives(std::span<const MatchedCollective> collectives,
                                              const StepStarts& starts);

} // namespace tilescope::analysis
