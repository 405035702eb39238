#include "core/query/steps/traced_steps.h"

#include <algorithm>
#include <map>

namespace tilescope::query {

namespace {

/// When the events of a step happened; a step's kernels may run when the next has begun.
struct StepSpan {
    Timestamp from = Timestamp::max();
    Timestamp to = Timestamp::min();
    bool hasRanges = false;

    void add(Timestamp start, Timestamp end)
    {
        from = std::min(from, start);
        // An event of length 0 overlaps a window that continues after it.
        to = std::max(to, std::max(start, end) + Nanoseconds(1));
    }
};

} // namespace

std::size_t eachTracedStep(const store::RunReader& reader, RunId run,
                           const std::function<void(const TracedStep&)>& take)
{
    std::map<std::int32_t, StepSpan> steps;
    const auto note = [&steps](const auto& event) {
        if (event.step != kNoStep)
            steps[event.step].add(event.start, event.end);
        return true;
    };
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (range.step != kNoStep)
            steps[range.step].hasRanges = true;
        return note(range);
    });
    reader.eachOp({.run = run}, [&](const Op& op) { return note(op); });
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) { return note(event); });
    std::size_t count = 0;
    for (const auto& [step, stretch] : steps) {
        if (!stretch.hasRanges)
            continue;
        const store::EventWindow window{.run = run, .from = stretch.from, .to = stretch.to, .step = step};
        take({step, reader.ranges(window), reader.ops(window), reader.deviceEvents(window)});
        ++count;
    }
    return count;
}

TracedStep stepOf(const TopologyIndex& topology, ProcessIndex process, TracedStep step)
{
    if (!topology.hasSeveral())
        return step;
    const auto isOfOther = [&](const auto& event) { return topology.of(event.thread) != process; };
    std::erase_if(step.ranges, isOfOther);
    std::erase_if(step.ops, isOfOther);
    std::erase_if(step.device, [&](const DeviceEvent& event) {
        return topology.of(event.device, event.stream) != process;
    });
    return step;
}

TracedStep eventsWithin(const store::RunReader& reader, RunId run, const TimeSpan& span)
{
    const store::EventWindow window = windowOf(reader, run, span);
    TracedStep part{
        .ranges = reader.ranges(window), .ops = reader.ops(window), .device = reader.deviceEvents(window)};
    const auto clipAll = [&window](auto& events) {
        for (auto& event : events)
            clip(event, window);
    };
    clipAll(part.ranges);
    clipAll(part.ops);
    clipAll(part.device);
    return part;
}

} // namespace tilescope::query
