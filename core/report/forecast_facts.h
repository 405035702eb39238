#pragma once

#include "core/query/work/step_forecast.h"
#include "core/report/run_facts.h"

#include <string_view>

namespace tilescope::report {

/// What formulas say about the step of a run, by query::stepForecast:
///
///     peak, step, compute      bytes; ms, from the ceilings in the run's file; compute without exposed communication
///     flops                    that a rank executes
///     sent, communication, exposed   bytes that a rank sends, and the ms that it takes over the link
///     bound_from               least number of ranks that share this batch with which a step is communication-bound
///     segments, levels, recomputed   of checkpointing; the last: forward passes that backward repeats
Fact forecastFact(const query::StepForecast& forecast, std::string_view which);

} // namespace tilescope::report
