#pragma once

#include "core/query/ranks/rank_tables.h"
#include "core/report/run_facts.h"

#include <string_view>

namespace tilescope::report {

/// The mean traced step of all ranks, by query::ranks:
///
///     wall, compute, overlapped, exposed, copies, host, idle   ms
///     communication      exposed and overlapped communication, ms
///     exposed_share      exposed communication, per cent of the wall
///     late               who is late, a sentence
Fact ranksFact(const query::RanksTable& ranks, std::string_view which);

/// The collectives of the traced steps:
///
///     op, count          names of the ops; number in a step
///     message            bytes of one rank, the largest
///     transfer           of the largest message, ms: median, its interval, n
///     algorithm, bus     its bandwidth, GB/s: median
///     link_share         of the link, per cent
///     sent               bytes that a rank sends in a mean step, by ring algorithms
///     wait               for the last rank, all ranks of a mean step, ms
///     gathers, late_gathers, stall, slack   all-gathers with known slack; those that delayed work; the delay in a
///                        mean step, ms; the least slack, ms
Fact collectiveFact(const query::RanksTable& ranks, std::string_view which);

} // namespace tilescope::report
