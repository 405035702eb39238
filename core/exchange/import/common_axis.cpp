#include "core/exchange/import/common_axis.h"

#include "core/exchange/import/clock_alignment.h"

#include <algorithm>

namespace tilescope::exchange {

TimeSpan placeOnOneAxis(ForeignTrace& trace, const std::string& clockName)
{
    TimeSpan all;
    alignHosts(trace);
    if (trace.topology.clocks.empty())
        trace.topology.clocks.push_back({.id = ClockIndex{0}, .name = clockName, .method = "same clock"});
    std::vector<std::int64_t> offsets;
    for (TracedProcess& process : trace.topology.processes) {
        if (!process.clock)
            process.clock = ClockIndex{0};
        offsets.push_back(
            trace.topology.clocks[static_cast<std::size_t>(process.clock.value)].offset.count());
    }
    const auto offsetOf = [&offsets](ProcessIndex process) {
        return process ? offsets[static_cast<std::size_t>(process.value)] : 0;
    };
    const auto place = [&](auto& row) {
        const std::int64_t offset = offsetOf(trace.processOf(row));
        row.start += offset;
        row.end += offset;
        all.include(row.start, row.end);
    };
    std::ranges::for_each(trace.host, place);
    std::ranges::for_each(trace.activities, place);
    // An allocation has the time of its host row.
    for (const HostRow& row : trace.host)
        if (row.kind == HostKind::Allocation)
            trace.allocations[row.extra].event.time = timestampAt(row.start);
    for (ForeignHeld& held : trace.held)
        held.storage.time += Nanoseconds(offsetOf(held.process));
    const auto shift = [&](auto& event) {
        event.start += Nanoseconds(offsetOf(event.process));
        event.end += Nanoseconds(offsetOf(event.process));
    };
    std::ranges::for_each(trace.collectives, shift);
    std::ranges::for_each(trace.waits, shift);
    for (auto& [process, track] : trace.counters) {
        const Nanoseconds offset(offsetOf(process));
        track.end += offset;
        for (CounterPoint& point : track.points)
            point.time += offset;
    }
    for (auto& [process, samples] : trace.hostSamples) {
        const Nanoseconds offset(offsetOf(process));
        for (SampledHostThread& thread : samples.threads)
            for (HostSample& sample : thread.samples)
                sample.time += offset;
    }
    for (auto& [process, samples] : trace.kernelSamples)
        for (StallSamples& each : samples.stalls)
            if (each.start != each.end) {
                each.start += Nanoseconds(offsetOf(process));
                each.end += Nanoseconds(offsetOf(process));
            }
    if (trace.memory)
        for (const AllocEvent& event : trace.memory->first.allocEvents)
            all.include(nanosecondsOf(event.time), nanosecondsOf(event.time));
    return all;
}

} // namespace tilescope::exchange
