#pragma once

#include "core/query/advice/advice_table.h"
#include "core/report/run_facts.h"

#include <string_view>

namespace tilescope::report {

/// What would make a step faster, by query::advice:
///
///     (empty)  the three findings with the most time at stake, as text
///     RULE     its time at stake in a mean traced step, ms; none if there is no such finding
///
/// Returns no facts if the run has no events.
Fact adviceFact(const query::AdviceTable& advice, std::string_view which);

} // namespace tilescope::report
