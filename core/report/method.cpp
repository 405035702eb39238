#include "core/report/method.h"

#include "core/base/number_text.h"
#include "core/base/plural.h"
#include "core/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

namespace tilescope::report {

namespace {

/// `10 timed steps`, `3 to 20 timed steps`; empty without runs.
std::string countOf(const RunList& runs, std::string_view key, std::string_view noun)
{
    std::set<std::int64_t> counts;
    for (const auto& run : runs)
        if (const auto count = parseNumber<std::int64_t>(run->param(key)))
            counts.insert(*count);
    if (counts.empty())
        return {};
    return counts.size() == 1 ? counted(*counts.begin(), noun)
                              : fmt::format("{} to {}", *counts.begin(), counted(*counts.rbegin(), noun));
}

std::string dayOf(std::int64_t unixNs)
{
    using namespace std::chrono;
    const year_month_day date(floor<days>(sys_time<nanoseconds>(nanoseconds(unixNs))));
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

RunList allRuns(const std::vector<StudyRuns>& studies)
{
    RunList runs;
    for (const StudyRuns& study : studies)
        std::ranges::move(select(study, {}, {}), std::back_inserter(runs));
    return runs;
}

} // namespace

std::vector<std::string> methodOf(const std::vector<StudyRuns>& studies)
{
    RunList timed = allRuns(studies);
    std::erase_if(timed, [](const auto& run) { return !run->number("step"); });
    std::vector<std::string> method;
    RunList generating = timed;
    std::erase_if(generating, [](const auto& run) { return run->param("mode") != "generate"; });
    RunList others = timed;
    std::erase_if(others, [](const auto& run) { return run->param("mode") == "generate"; });
    constexpr std::string_view kTime = " A time is wall time between two synchronizations of the device.";
    const std::string steps = countOf(others, "steps", "timed step");
    const std::string tokens = countOf(generating, "new_tokens", "token");
    if (steps.empty() && tokens.empty())
        return method;
    if (!steps.empty())
        method.push_back(fmt::format("A point runs {} without timing, and then {}.{}",
                                     countOf(others, "warmup", "warm-up step"), steps, kTime));
    if (!tokens.empty())
        method.push_back(fmt::format(
            "A point of generation runs {} without timing, and then times each of {}; the "
            "first, which follows the prompt, is no step.{}",
            countOf(generating, "warmup", "generation"), tokens, steps.empty() ? kTime : std::string_view()));
    method.push_back(
        fmt::format("Times are medians. The 95 % interval of a median follows in parentheses where it is "
                    "wider than a tenth of the median; fewer than {} values have no interval.",
                    analysis::kFewestForInterval));
    if (std::ranges::any_of(timed, [](const auto& run) { return run->param("trace") != "off"; }))
        method.emplace_back(
            "Timelines, kernels and memory by category come from further steps, which are traced and do "
            "not count for times.");
    method.emplace_back(
        "Memory is what the allocator gave to tensors. A point that ran out of memory (OOM) and one that "
        "the device does not support (skipped) are results.");
    return method;
}

std::string daysOf(const std::vector<StudyRuns>& studies)
{
    std::set<std::string> days;
    for (const auto& run : allRuns(studies))
        if (run->record().startedUnixNs > 0)
            days.insert(dayOf(run->record().startedUnixNs));
    if (days.empty())
        return {};
    return days.size() == 1 ? *days.begin() : *days.begin() + " to " + *days.rbegin();
}

} // namespace tilescope::report
