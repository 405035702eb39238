#pragma once

#include "core/model/processes.h"
#include "core/model/rank_info.h"
#include "core/rendezvous/clock_offset.h"

#include <optional>
#include <string>

namespace tilescope::session {

/// The clock of a rank on another node than rank 0's, measured before and after the point: clocks of hosts drift.
class RankClock {
public:
    /// Measures it for the first time. Does nothing for a rank on rank 0's node.
    explicit RankClock(const std::optional<RankInfo>& rankInfo);
    /// Measures the clock again.
    /// \return  this rank's description for RankJoin; without a clock if the hub is unreachable. Empty on rank 0's node.
    RunTopology topology() const;

private:
    std::optional<rendezvous::ClockOffset> measured() const;

    const std::optional<RankInfo> rankInfo_; ///< if on another node
    const std::optional<rendezvous::ClockOffset> before_;
};

} // namespace tilescope::session
