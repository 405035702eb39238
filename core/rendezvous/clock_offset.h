#pragma once

#include "core/base/units.h"
#include "core/model/rank_info.h"

#include <optional>

namespace tilescope::rendezvous {

/// An interval that contains the offset from this host's trace clock to the trace clock of the hub's host.
struct ClockOffset {
    Nanoseconds least{0};
    Nanoseconds most{0};

    Nanoseconds middle() const { return least + (most - least) / 2; }
    Nanoseconds uncertainty() const { return (most - least + Nanoseconds(1)) / 2; }
    /// The interval for the time between this and a later measurement, if the offset changes evenly in between.
    ClockOffset with(const ClockOffset& later) const;
};

/// Asks the hub for its time repeatedly. The hub reads its clock after the question is sent and before the
/// answer arrives, so each exchange bounds the offset on both sides. The fastest transfers in each direction
/// determine the result. Takes several milliseconds.
/// \throws Error (Environment)  the hub cannot be reached
ClockOffset measureClockOffset(const HubAddress& hub);

/// The bounds from one exchange.
ClockOffset boundsOf(Timestamp sent, Timestamp atHub, Timestamp received);
/// The intersection of both intervals; the first if they are disjoint.
ClockOffset intersection(const ClockOffset& a, const ClockOffset& b);

} // namespace tilescope::rendezvous
