#pragma once

#include "core/base/units.h"
#include "core/model/rank_seat.h"

#include <optional>

namespace tilescope::meeting {

/// The interval that contains what must be added to the trace clock of this host to get that of the hub's.
struct ClockOffset {
    Nanoseconds least{0};
    Nanoseconds most{0};

    Nanoseconds middle() const { return least + (most - least) / 2; }
    Nanoseconds uncertainty() const { return (most - least + Nanoseconds(1)) / 2; }
    /// The interval for the time between two measurements, in which the offset changes evenly.
    ClockOffset with(const ClockOffset& later) const;
};

/// Asks the hub for its time repeatedly: it read its clock after the question was sent and before the answer arrived, so
/// each exchange bounds the offset on both sides, and the bounds of all together are those of the fastest ways there and back.
/// Takes some milliseconds.
/// \throws Error (Environment)  the hub cannot be reached
ClockOffset measureClockOffset(const HubAddress& hub);

/// The bounds from one exchange.
ClockOffset boundsOf(Timestamp sent, Timestamp atHub, Timestamp received);
/// What holds in both; the first if they contradict each other.
ClockOffset intersection(const ClockOffset& a, const ClockOffset& b);

} // namespace tilescope::meeting
