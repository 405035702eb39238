#pragma once

#include "core/analysis/path/what_if.h"
#include "core/query/runs/party_filter.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::query {

/// The steps of all processes with their wall times (analysis::StepWalls), by step, then process. If no
/// process has steps, each has one, its recording.
std::vector<analysis::RecordedStep> pathSteps(const store::RunReader& reader, RunId run,
                                              const PartyIndex& parties,
                                              const std::function<bool()>& cancelled);

/// Events that a graph is made of at a time: 800 MB of them.
inline constexpr std::int64_t kMostPathEvents = 4'000'000;

/// Whether more than `most` events overlap a stretch of time. Reads none if the run does not have more.
bool hasMoreEvents(const store::RunReader& reader, RunId run, analysis::Interval time, std::int64_t most);
/// Cuts a stretch of time into halves until no piece overlaps more than `most` events, or is shorter than 1 ms; in order.
std::vector<analysis::Interval> readablePieces(const store::RunReader& reader, RunId run,
                                               analysis::Interval time, std::int64_t most);

/// The graph of the events that overlap `time`.
analysis::RecordedGraph graphWithin(const store::RunReader& reader, RunId run, const PartyIndex& parties,
                                    analysis::Interval time);

} // namespace tilescope::query
