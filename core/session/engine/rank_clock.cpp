#include "core/session/engine/rank_clock.h"

#include "core/base/error.h"
#include "core/base/this_host.h"

#include <unistd.h>

#include <array>

namespace tilescope::session {

RankClock::RankClock(const std::optional<RankInfo>& rankInfo)
    : rankInfo_(rankInfo && rankInfo->node > 0 ? rankInfo : std::nullopt), before_(measured())
{
}

std::optional<rendezvous::ClockOffset> RankClock::measured() const
{
    try {
        return rankInfo_ ? std::optional(rendezvous::measureClockOffset(rankInfo_->hub)) : std::nullopt;
    } catch (const Error&) {
        return {}; // the point itself fails for the same reason
    }
}

RunTopology RankClock::topology() const
{
    RunTopology topology;
    if (!rankInfo_)
        return topology;
    topology.processes.push_back({.id = ProcessIndex{rankInfo_->rank},
                                  .pid = getpid(),
                                  .host = hostName(),
                                  .name = "tilescope-engine",
                                  .rank = rankInfo_->rank,
                                  .worldSize = rankInfo_->size,
                                  .clock = ClockIndex{0}});
    const auto after = before_ ? measured() : std::nullopt;
    if (!before_)
        return topology;
    const rendezvous::ClockOffset offset = after ? before_->with(*after) : *before_;
    topology.clocks.push_back({.id = ClockIndex{0},
                               .name = hostName(),
                               .offset = offset.middle(),
                               .uncertainty = offset.uncertainty(),
                               .method = "times asked over the network"});
    return topology;
}

} // namespace tilescope::session
