#pragma once

#include "core/analysis/ranks/lateness.h"

#include <map>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// By process, the first process of its host.
using FirstOfHost = std::map<ProcessIndex, ProcessIndex>;

/// The collectives as if each host were one process: of each host the part that started first, with the first process of
/// the host. So ranks of one host that are late together, and of which therefore none is behind the others, are found as
/// their host, but a rank that is late alone does not make its host late.
///
/// \param collectives  a result of matchCollectives()
/// \param firstOfHost  knows all processes; a collective with another one, or within one host, is left out
std::vector<MatchedCollective> collectivesOfHosts(std::span<const MatchedCollective> collectives,
                                                  const FirstOfHost& firstOfHost);

/// The same of the starts of steps: a host begins a step with its first rank.
StepStarts startsOfHosts(const StepStarts& starts, const FirstOfHost& firstOfHost);

} // namespace tilescope::analysis
