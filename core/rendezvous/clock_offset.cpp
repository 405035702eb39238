#include "core/rendezvous/clock_offset.h"

#include "core/base/error.h"
#include "core/rendezvous/connection.h"

#include <algorithm>

namespace tilescope::rendezvous {

namespace {

constexpr int kExchanges = 200;
constexpr std::chrono::seconds kTimeToTell{5};

} // namespace

ClockOffset ClockOffset::with(const ClockOffset& later) const
{
    return {std::min(least, later.least), std::max(most, later.most)};
}

ClockOffset boundsOf(Timestamp sent, Timestamp atHub, Timestamp received)
{
    return {.least = atHub - received, .most = atHub - sent};
}

ClockOffset intersection(const ClockOffset& a, const ClockOffset& b)
{
    const ClockOffset both{std::max(a.least, b.least), std::min(a.most, b.most)};
    return both.least <= both.most ? both : a;
}

ClockOffset measureClockOffset(const HubAddress& hub)
{
    Connection connection(hub);
    std::optional<ClockOffset> offset;
    for (int i = 0; i < kExchanges; ++i) {
        const Timestamp sent = TraceClock::now();
        connection.send({.kind = FrameKind::Clock});
        const std::optional<Frame> answer = connection.receive(kTimeToTell);
        const Timestamp received = TraceClock::now();
        if (!answer || answer->kind != FrameKind::Clock)
            throw Error{.what = "the host of rank 0 did not answer when it was asked for its time",
                        .where = hub.hosts.front(),
                        .kind = ErrorKind::Environment};
        const ClockOffset bounds = boundsOf(sent, timestampAt(answer->number), received);
        offset = offset ? intersection(*offset, bounds) : bounds;
    }
    return *offset;
}

} // namespace tilescope::rendezvous
