#include "core/analysis/ranks/lateness.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

/// The ends of each process' collectives, ascending.
using Ends = std::map<ProcessIndex, std::vector<Timestamp>>;

Ends endsOf(std::span<const MatchedCollective> collectives)
{
    Ends ends;
    for (const MatchedCollective& collective : collectives)
        for (const CollectivePart& part : collective.parts)
            ends[part.process].push_back(part.time.end);
    for (auto& [process, times] : ends)
        std::ranges::sort(times);
    return ends;
}

bool isQueued(const Ends& ends, const CollectivePart& part)
{
    const std::vector<Timestamp>& times = ends.at(part.process);
    const auto after = std::ranges::upper_bound(times, part.time.start);
    if (after == times.begin())
        return false;
    const Timestamp before = *std::prev(after);
    return part.time.start - before <= kQueuedWithin && part.launched < before;
}

/// The latest rank in the previous collective of the same ranks, and its lateness.
struct Lag {
    ProcessIndex process = {};
    Nanoseconds time{0};
    std::int32_t step = kNoStep;
};

/// How much later a process begins the step than all other processes; none if unknown.
std::optional<Nanoseconds> latenessOfStart(const StepStarts& starts, const MatchedCollective& collective,
                                           const CollectivePart& of)
{
    const auto own = starts.find({of.process, of.step});
    if (own == starts.end())
        return {};
    std::optional<Timestamp> others;
    for (const CollectivePart& part : collective.parts) {
        const auto start = starts.find({part.process, part.step});
        if (part.process == of.process || start == starts.end())
            continue;
        others = others ? std::max(*others, start->second) : start->second;
    }
    if (!others)
        return {};
    return std::max(Nanoseconds(0), own->second - *others);
}

} // namespace

Nanoseconds CollectiveTiming::wait() const
{
    Nanoseconds sum{0};
    for (const Nanoseconds wait : waits)
        sum += wait;
    return sum;
}

std::vector<CollectiveTiming> timeCollectives(std::span<const MatchedCollective> collectives,
                                              const StepStarts& starts)
{
    const Ends ends = endsOf(collectives);
    std::map<std::vector<ProcessIndex>, Lag> lags;
    std::vector<CollectiveTiming> timings;
    for (const MatchedCollective& collective : collectives) {
        CollectiveTiming& timing = timings.emplace_back();
        const std::vector<CollectivePart>& parts = collective.parts;
        timing.waits.assign(parts.size(), Nanoseconds(0));
        if (parts.size() < 2 || !collective.overlaps())
            continue;
        std::vector<std::size_t> order(parts.size());
        std::vector<ProcessIndex> members;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            order[i] = i;
            members.push_back(parts[i].process);
        }
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return parts[i].time.start; });
        const CollectivePart& last = parts[order.back()];
        const CollectivePart& next = parts[order[order.size() - 2]];
        timing.transfer = last.time.length();
        for (std::size_t i = 0; i < parts.size(); ++i) {
            timing.transfer = std::min(*timing.transfer, parts[i].time.length());
            timing.waits[i] = std::min(last.time.start - parts[i].time.start, parts[i].time.length());
        }
        timing.behind = last.time.start - next.time.start;
        if (!collective.isComplete() || timing.behind.count() == 0) {
            timing.behind = Nanoseconds(0);
            lags.erase(members);
            continue;
        }
        timing.last = order.back();
        Lag& lag = lags[members];
        Nanoseconds known = lag.process == last.process ? lag.time : Nanoseconds(0);
        if (lag.step != last.step)
            known = std::min(known, latenessOfStart(starts, collective, last).value_or(known));
        timing.late = std::max(Nanoseconds(0), timing.behind - known);
        const bool mayBeLater = isQueued(ends, next);
        lag = {last.process, mayBeLater ? std::max(known, timing.behind) : timing.behind, last.step};
    }
    return timings;
}

} // namespace tilescope::analysis
