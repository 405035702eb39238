#pragma once

#include "core/meeting/clock_offset.h"
#include "core/model/processes.h"
#include "core/model/rank_seat.h"

#include <optional>
#include <string>

namespace tilescope::session {

/// The clock of a rank on another node than rank 0's, measured before and after the point: clocks of hosts drift.
class RankClock {
public:
    /// Measures it for the first time. Does nothing for a rank on rank 0's node.
    explicit RankClock(const std::optional<RankSeat>& seat);
    /// Measures the clock again.
    /// \return  this rank's description for RankJoin; without a clock if the hub is unreachable. Empty on rank 0's node.
    RunParties parties() const;

private:
    std::optional<meeting::ClockOffset> measured() const;

    const std::optional<RankSeat> seat_; ///< if on another node
    const std::optional<meeting::ClockOffset> before_;
};

} // namespace tilescope::session
