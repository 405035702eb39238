#include "core/session/engine/rank_clock.h"

#include "core/base/error.h"
#include "core/base/this_host.h"

#include <unistd.h>

#include <array>

namespace tilescope::session {

RankClock::RankClock(const std::optional<RankSeat>& seat)
    : seat_(seat && seat->node > 0 ? seat : std::nullopt), before_(measured())
{
}

std::optional<meeting::ClockOffset> RankClock::measured() const
{
    try {
        return seat_ ? std::optional(meeting::measureClockOffset(seat_->hub)) : std::nullopt;
    } catch (const Error&) {
        return {}; // the point itself fails for the same reason
    }
}

RunParties RankClock::parties() const
{
    RunParties parties;
    if (!seat_)
        return parties;
    parties.processes.push_back({.id = ProcessIndex{seat_->rank},
                                 .pid = getpid(),
                                 .host = hostName(),
                                 .name = "tilescope-engine",
                                 .rank = seat_->rank,
                                 .worldSize = seat_->size,
                                 .clock = ClockIndex{0}});
    const auto after = before_ ? measured() : std::nullopt;
    if (!before_)
        return parties;
    const meeting::ClockOffset offset = after ? before_->with(*after) : *before_;
    parties.clocks.push_back({.id = ClockIndex{0},
                              .name = hostName(),
                              .offset = offset.middle(),
                              .uncertainty = offset.uncertainty(),
                              .method = "times asked over the network"});
    return parties;
}

} // namespace tilescope::session
