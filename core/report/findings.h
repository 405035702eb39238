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

/// Rules by which findings are computed; `say` may hold the placeholders named here.
///
///   spread     of a quantity over the points: {range} {least} {largest} {median} {least_at} {largest_at}
///              {points}. Means of the points that ran; `by` names the points.
///   statuses   how many points ended how: {oom}, a clause; {points} {skipped} {failed}
///   mean       geometric mean of a ratio over the points: {mean} {range} {points}
///   growth     exponent p of value = c x^p for each value of `series`: least squares on logarithms through
///              the larger half of the points (three at least), with Student's 95 % interval: {exponents}
///   crossover  the least x from which `second` stays below `first`, for each combination of `by`:
///              {crossovers}
///   boundary   the x at which memory ends: a fit of a + b x + c x² to the peaks of the points that fit, and
///              whether the points on both sides agree: {predicted} {limit} {largest_ok} {least_oom} {agrees}
///   trade      of all values of `series` beside `first`, the one that saves the largest share of `value` for
///              the share of `over` that it costs more, for each combination of `by`: {trades}
///   say        {value} of the first point that has it
///
/// A rule that cannot be applied says what it lacks: nothing is claimed that the data do not show.
std::vector<std::string_view> ruleNames();

using Placeholders = std::map<std::string, std::string, std::less<>>;

/// `say` with its {placeholders}; those that are not known stay.
std::string filled(std::string_view say, const Placeholders& placeholders);

/// The findings that one template makes.
std::vector<Finding> makeFindings(const FindingTemplate& wanted, const StudyRuns& study);

} // namespace tilescope::report
