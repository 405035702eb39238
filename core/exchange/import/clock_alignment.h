#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Corrects the clocks of several hosts, whose wall clocks differ by milliseconds, by the collectives that processes of
/// two hosts have in common: none ends before all of its processes have started it. This bounds the difference of two
/// clocks from both sides; within the bounds, the ends are taken to coincide.
///
/// Changes the offset, the uncertainty and the method of the clocks of all hosts but the first. Clocks stay as they are
/// where the hosts have too few collectives in common, or where these contradict each other.
/// \param trace  times on the clocks of their processes
void alignHosts(ForeignTrace& trace);

} // namespace tilescope::exchange
