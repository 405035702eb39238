#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Corrects the clocks of several hosts, whose wall clocks differ by milliseconds. Uses the collectives that
/// processes of two hosts have in common: a collective ends only after all its processes have started it. This bounds
/// the difference of two clocks on both sides. Within the bounds, the ends of a collective are assumed to coincide.
///
/// Sets the offset, uncertainty and method of the clocks of all hosts except the first. Clocks stay unchanged
/// if the hosts have too few collectives in common or the bounds contradict each other.
/// \param trace  times on the clocks of their processes
void alignHosts(ForeignTrace& trace);

} // namespace tilescope::exchange
