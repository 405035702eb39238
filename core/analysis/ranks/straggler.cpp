#include "core/analysis/ranks/straggler.h"

#include "core/analysis/stats/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilescope::analysis {

ProcessIndex StepLateness::last() const
{
    ProcessIndex found;
    Nanoseconds most{0};
    for (const auto& [process, time] : late) {
        if (time == most)
            found = {};
        if (time > most) {
            most = time;
            found = process;
        }
    }
    return found;
}

std::vector<StepLateness> latenessOfSteps(std::span<const MatchedCollective> collectives,
                                          std::span<const CollectiveTiming> timings)
{
    std::map<std::int32_t, StepLateness> steps;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
        const std::vector<CollectivePart>& parts = collectives[i].parts;
        if (!timings[i].transfer || !collectives[i].isComplete())
            continue;
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const std::int32_t step = parts[part].step;
            if (step == kNoStep)
                continue;
            StepLateness& row = steps[step];
            row.step = step;
            row.late[parts[part].process] += timings[i].last == part ? timings[i].late : Nanoseconds(0);
        }
    }
    std::vector<StepLateness> list;
    for (auto& [step, row] : steps)
        list.push_back(std::move(row));
    return list;
}

double binomialTail(std::int64_t successes, std::int64_t trials, double each)
{
    // Computes each term from the previous one in logarithms, which neither overflow nor underflow.
    const double oddsStep = std::log(each) - std::log1p(-each);
    double logTerm = static_cast<double>(trials) * std::log1p(-each);
    double sum = 0;
    for (std::int64_t k = 0; k <= trials; ++k) {
        if (k >= successes)
            sum += std::exp(logTerm);
        if (k < trials)
            logTerm += std::log(static_cast<double>(trials - k) / static_cast<double>(k + 1)) + oddsStep;
    }
    return std::min(1.0, sum);
}

StragglerVerdict stragglerOf(std::span<const StepLateness> steps)
{
    StragglerVerdict verdict;
    std::set<ProcessIndex> ranks;
    std::map<ProcessIndex, std::vector<double>> lateness;
    for (const StepLateness& step : steps) {
        for (const auto& [process, time] : step.late)
            ranks.insert(process);
        if (const ProcessIndex last = step.last()) {
            ++verdict.steps;
            lateness[last].push_back(static_cast<double>(step.late.at(last).count()));
        }
    }
    verdict.ranks = ranks.size();
    if (verdict.ranks < 2)
        return verdict;
    for (const auto& [process, times] : lateness) {
        const auto count = static_cast<std::int64_t>(times.size());
        if (count == verdict.lastIn)
            verdict.process = {};
        if (count > verdict.lastIn) {
            verdict.lastIn = count;
            verdict.process = process;
        }
    }
    if (verdict.process) {
        const std::vector<double>& times = lateness.at(verdict.process);
        const auto [least, most] = std::ranges::minmax(times);
        verdict.median = Nanoseconds(std::llround(median(times)));
        verdict.least = Nanoseconds(static_cast<std::int64_t>(least));
        verdict.most = Nanoseconds(static_cast<std::int64_t>(most));
    }
    const auto n = static_cast<double>(verdict.ranks);
    verdict.chance = std::min(1.0, n * binomialTail(verdict.lastIn, verdict.steps, 1 / n));
    if (verdict.steps < kFewestStepsForVerdict)
        verdict.kind = StragglerVerdict::Kind::TooFewSteps;
    else if (verdict.process && verdict.chance < kStragglerLevel)
        verdict.kind = StragglerVerdict::Kind::Straggler;
    else
        verdict.kind = StragglerVerdict::Kind::NoStraggler;
    return verdict;
}

} // namespace tilescope::analysis
