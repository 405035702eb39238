// The traces of several processes as one, for advice about their mean step.

#include "core/query/tables/advice_trace.h"

#include <algorithm>
#include <iterator>

namespace tilescope::query {

namespace {

using analysis::GroupedTime;
using analysis::Interval;

template <class Visit> void eachList(AdviceTrace& trace, const Visit& visit)
{
    analysis::IdleReasons& host = trace.host;
    for (std::vector<GroupedTime>* list :
         {&host.loading, &host.allocating, &host.waiting, &host.next, &trace.loading, &trace.recomputed})
        visit(*list);
}

template <class Visit> void eachTime(AdviceTrace& trace, const Visit& visit)
{
    std::ranges::for_each(trace.walls, visit);
    std::ranges::for_each(trace.host.tracing, visit);
    for (AdviceTrace::Activity& each : trace.activities)
        visit(each.time);
    eachList(trace, [&visit](std::vector<GroupedTime>& list) {
        for (GroupedTime& each : list)
            visit(each.time);
    });
}

Interval spanOf(AdviceTrace& trace)
{
    Interval span{Timestamp::max(), Timestamp::min()};
    eachTime(trace, [&span](const Interval& time) {
        span.start = std::min(span.start, time.start);
        span.end = std::max(span.end, time.end);
    });
    return span;
}

void shift(AdviceTrace& trace, Nanoseconds by)
{
    eachTime(trace, [by](Interval& time) { time = {time.start + by, time.end + by}; });
    for (Timestamp& errand : trace.host.lastErrands)
        if (errand != Timestamp::min()) // none
            errand += by;
    for (AdviceTrace::Part& part : trace.parts)
        part.shift += by;
}

template <class List> void append(List& to, List& from)
{
    std::ranges::move(from, std::back_inserter(to));
}

/// Numbers the sources and kinds of a trace as in the joined one.
void renumber(AdviceTrace& trace, AdviceTrace& all)
{
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < trace.sources.size(); ++i)
        numbers.push_back(all.sources.of(trace.sources[i]));
    eachList(trace, [&numbers](std::vector<GroupedTime>& list) {
        for (GroupedTime& each : list)
            each.group = numbers.at(each.group);
    });
    const auto kinds = static_cast<std::uint32_t>(all.kinds.size());
    for (AdviceTrace::Activity& each : trace.activities)
        each.kind += kinds;
}

void add(AdviceTrace& trace, AdviceTrace& all)
{
    renumber(trace, all);
    append(all.walls, trace.walls);
    append(all.kinds, trace.kinds);
    append(all.activities, trace.activities);
    append(all.host.tracing, trace.host.tracing);
    append(all.host.loading, trace.host.loading);
    append(all.host.allocating, trace.host.allocating);
    append(all.host.waiting, trace.host.waiting);
    append(all.host.next, trace.host.next);
    append(all.host.lastErrands, trace.host.lastErrands);
    append(all.loading, trace.loading);
    append(all.recomputed, trace.recomputed);
    append(all.parts, trace.parts);
    all.devices.merge(trace.devices);
    all.steps += trace.steps;
    if (trace.allocatedAtPeak > all.allocatedAtPeak) {
        all.allocatedAtPeak = trace.allocatedAtPeak;
        all.reservedAtPeak = trace.reservedAtPeak;
    }
    for (bool AdviceTrace::*has :
         {&AdviceTrace::onGpu, &AdviceTrace::hasCalls, &AdviceTrace::hasLaunches, &AdviceTrace::hasHostEvents,
          &AdviceTrace::hasBackwardOps, &AdviceTrace::hasBackwardWork, &AdviceTrace::hasReserved})
        all.*has = all.*has || trace.*has;
}

} // namespace

AdviceTrace joined(std::vector<AdviceTrace> traces)
{
    const bool haveSteps = std::ranges::any_of(
        traces, [](const AdviceTrace& trace) { return !trace.isWhole && trace.steps > 0; });
    if (haveSteps)
        std::erase_if(traces, [](const AdviceTrace& trace) { return trace.isWhole || trace.steps == 0; });
    AdviceTrace all = std::move(traces.front());
    constexpr Nanoseconds kApart{1'000'000'000};
    for (std::size_t i = 1; i < traces.size(); ++i) {
        const Interval before = spanOf(all);
        const Interval own = spanOf(traces[i]);
        if (before.start <= before.end && own.start <= own.end)
            shift(traces[i], before.end - own.start + kApart);
        add(traces[i], all);
    }
    return all;
}

} // namespace tilescope::query
