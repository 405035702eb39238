#pragma once

#include "core/report/document.h"
#include "core/report/study_runs.h"
#include "core/report/template.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

/// Rules that compute findings. `say` may contain the placeholders listed here.
///
///     spread     a quantity over the points: {range} {least} {largest} {median} {least_at} {largest_at}
///                {points}. Means of the points that ran; `by` names the points.
///     statuses   the number of points per status: {oom}, a clause; {points} {skipped} {failed}
///     mean       geometric mean of a ratio over the points: {mean} {range} {points}
///     growth     exponent p of value = c x^p for each value of `series`: least squares on logarithms through
///                the larger half of the points (at least three), with Student's 95 % interval: {exponents}
///     crossover  the least x from which `second` stays below `first`, for each combination of `by`:
///                {crossovers}
///     boundary   the x at which memory runs out: a fit of a + b x + c x² to the peaks of the points that
///                fit, and whether the points on both sides agree: {predicted} {limit} {largest_ok} {least_oom}
///                {agrees}
///     trade      the value of `series` that saves the largest share of `value` per additional share of
///                `over`, compared with `first`, for each combination of `by`: {trades}
///     say        {value} of the first point that has it
///
/// A rule without sufficient data yields a finding that names what is missing.
std::vector<std::string_view> ruleNames();

using Placeholders = std::map<std::string, std::string, std::less<>>;

/// Fills the {placeholders} of `say`; unknown ones stay.
std::string filled(std::string_view say, const Placeholders& placeholders);

std::vector<Finding> makeFindings(const FindingTemplate& wanted, const StudyRuns& study);

} // namespace tilescope::report
