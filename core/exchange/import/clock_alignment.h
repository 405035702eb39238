#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "clocks": corrects the clocks of several hosts, whose wall clocks differ by milliseconds. Files that name no host
/// count as hosts of their own. Uses the collectives that processes of two hosts have in common: a collective ends only
/// after all its processes have started it. This bounds the difference of two clocks on both sides. Within the bounds,
/// the ends of a collective are assumed to lie within kEndsNs of each other.
///
/// Sets the uncertainty of the clocks of all hosts except the first, and offset and method of those that differ by more
/// than it or that contradict the bounds. Clocks stay unchanged if the hosts have too few collectives in common or the
/// bounds contradict each other.
/// \param trace  times on the clocks of their processes
void alignHosts(ForeignTrace& trace);

} // namespace tilescope::exchange
