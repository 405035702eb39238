#include "core/exchange/import/rules/unread_devices.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

void countHostEvents(ForeignTrace& trace)
{
    std::map<ProcessIndex, std::int64_t> counts;
    std::erase_if(trace.host, [&](const HostRow& row) {
        const ProcessIndex process = trace.processOf(row);
        const bool isUnread = trace.unread.contains(process);
        counts[process] += isUnread ? 1 : 0;
        return isUnread;
    });
    for (const auto& [process, device] : trace.unread)
        if (counts[process] > 0)
            trace.losses[{RecordLoss::DeviceNotRead, device}] += counts[process];
}

void leaveOutThreads(ForeignTrace& trace)
{
    std::vector<std::uint32_t> places(trace.threads.size());
    std::vector<KnownThread> kept;
    for (std::size_t i = 0; i < trace.threads.size(); ++i) {
        places[i] = static_cast<std::uint32_t>(kept.size());
        if (!trace.unread.contains(trace.threads[i].process))
            kept.push_back(trace.threads[i]);
    }
    for (HostRow& row : trace.host)
        row.thread = places[row.thread];
    for (Collective& each : trace.collectives)
        if (each.thread)
            each.thread = ThreadId{places[each.thread.value]};
    trace.threads = std::move(kept);
}

void renumberProcesses(ForeignTrace& trace)
{
    std::vector<TracedProcess> kept;
    std::vector<std::uint32_t> sources;
    std::vector<ProcessIndex> places(trace.topology.processes.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (trace.unread.contains(ProcessIndex{static_cast<std::int32_t>(i)}))
            continue;
        places[i] = ProcessIndex{static_cast<std::int32_t>(kept.size())};
        kept.push_back(std::move(trace.topology.processes[i]));
        kept.back().id = places[i];
        sources.push_back(trace.sourceOf[i]);
    }
    const auto renumber = [&](ProcessIndex& process) {
        process = process ? places[static_cast<std::size_t>(process.value)] : process;
    };
    const auto renumberAll = [&](auto& records) {
        for (auto& record : records)
            renumber(record.process);
    };
    renumberAll(trace.threads);
    renumberAll(trace.devices);
    renumberAll(trace.streams);
    renumberAll(trace.allocations);
    renumberAll(trace.held);
    renumberAll(trace.collectives);
    renumberAll(trace.waits);
    for (auto& [process, track] : trace.counters)
        renumber(process);
    for (auto& [process, samples] : trace.hostSamples)
        renumber(process);
    for (auto& [process, samples] : trace.kernelSamples)
        renumber(process);
    trace.topology.processes = std::move(kept);
    trace.sourceOf = std::move(sources);
}

} // namespace

void leaveOutUnreadDevices(ForeignTrace& trace)
{
    if (trace.unread.empty() && trace.spare.empty())
        return;
    const std::vector<bool> used = trace.usedStreams();
    const auto keep = [&trace](ProcessIndex process) { trace.spare.erase(process); };
    for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i]) {
            trace.unread.erase(trace.streams[i].process);
            keep(trace.streams[i].process);
        }
    for (const KnownThread& thread : trace.threads)
        keep(thread.process);
    for (const ForeignAllocation& each : trace.allocations)
        keep(each.process);
    for (const ForeignHeld& each : trace.held)
        keep(each.process);
    for (const Collective& each : trace.collectives)
        keep(each.process);
    for (const Wait& each : trace.waits)
        keep(each.process);
    for (const auto& [process, track] : trace.counters)
        keep(process);
    for (const ProcessIndex process : trace.spare)
        trace.unread.try_emplace(process);
    if (trace.unread.empty())
        return;
    countHostEvents(trace);
    leaveOutThreads(trace);
    renumberProcesses(trace);
}

} // namespace tilescope::exchange
