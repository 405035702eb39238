#include "core/exchange/export/export_topology.h"

#include "core/exchange/export/export_text.h"
#include "core/model/environment_facts.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tilescope::exchange {

namespace {

std::uint64_t streamKey(DeviceIndex device, StreamId stream)
{
    constexpr int kStreamBits = 32;
    return std::uint64_t{static_cast<std::uint16_t>(device.value)} << kStreamBits | stream.value;
}

/// The first thread of a process has the number of the process; of the recorded threads, the one with the lowest
/// number is most likely the first.
std::int64_t mainThread(const std::vector<ThreadName>& threads)
{
    std::int64_t lowest = 0;
    for (const ThreadName& thread : threads)
        if (thread.thread && (lowest == 0 || thread.thread.value < lowest))
            lowest = thread.thread.value;
    return lowest;
}

} // namespace

ExportTopology::ExportTopology(const store::RunReader& reader, const store::RunRecord& run, bool withIdentity)
{
    RunTopology topology = reader.topology(run.run);
    const std::vector<EnvironmentEntry> environment = reader.environment(run.run);
    devices_ = std::move(topology.devices);
    streams_ = std::move(topology.streams);
    threads_ = reader.threads(run.run);
    addProcesses(run, topology.processes, environment, withIdentity);
    if (devices_.empty())
        for (const EnvironmentEntry& entry : environment)
            if (entry.key == "gpu.name")
                devices_.push_back({.id = DeviceIndex{0}, .name = entry.value});
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        devices_[i].name = exportedText(devices_[i].name, withIdentity);
        if (!withIdentity) {
            devices_[i].host.clear();
            devices_[i].uuid.clear();
        }
        deviceIndex_.emplace(devices_[i].id, i);
    }
    for (std::size_t i = 0; i < streams_.size(); ++i)
        streamIndex_.emplace(streamKey(streams_[i].device, streams_[i].id), i);
    for (std::size_t i = 0; i < threads_.size(); ++i)
        threadIndex_.emplace(threads_[i].thread, i);
}

void ExportTopology::addProcesses(const store::RunRecord& run, const std::vector<TracedProcess>& recorded,
                                  const std::vector<EnvironmentEntry>& environment, bool withIdentity)
{
    std::unordered_set<std::int64_t> taken;
    for (const TracedProcess& process : recorded) {
        processIndex_.emplace(process.id.value, processes_.size());
        processes_.push_back(
            {.pid = process.pid,
             .name = exportedText(process.name, withIdentity),
             .rank = process.rank,
             .worldSize = process.worldSize,
             .firstCorrelation = process.firstCorrelation,
             .host = withIdentity ? exportedText(process.host, true) : std::string(),
             .commandLine = withIdentity ? exportedText(process.commandLine, true) : std::string()});
    }
    if (processes_.empty())
        processes_.push_back(
            {.pid = mainThread(threads_),
             .name = exportedText(run.name.empty() ? run.program : run.name, withIdentity),
             .host = withIdentity ? exportedText(factOf(environment, "host"), true) : std::string()});
    // Other tools tell processes apart by their pid, which those of two hosts may share.
    constexpr std::int64_t kMostPid = std::numeric_limits<std::int32_t>::max();
    std::vector<ExportedProcess*> unnumbered;
    for (ExportedProcess& process : processes_)
        if (process.pid <= 0 || process.pid > kMostPid || !taken.insert(process.pid).second)
            unnumbered.push_back(&process);
    std::int64_t next = 1'000'000; // far from numbers of devices, which some formats use as pids
    for (ExportedProcess* process : unnumbered) {
        while (!taken.insert(next).second)
            ++next;
        process->pid = next;
    }
}

std::size_t ExportTopology::processOf(ProcessIndex process) const
{
    const auto found = processIndex_.find(process.value);
    return found == processIndex_.end() ? 0 : found->second;
}

std::size_t ExportTopology::processOf(ThreadId thread) const
{
    const auto found = threadIndex_.find(thread);
    return found == threadIndex_.end() ? 0 : processOf(threads_[found->second].process);
}

std::int64_t ExportTopology::nativeOf(ThreadId thread) const
{
    const auto found = threadIndex_.find(thread);
    if (found != threadIndex_.end() && threads_[found->second].native >= 0)
        return threads_[found->second].native;
    return thread ? static_cast<std::int64_t>(thread.value) : 0;
}

StringId ExportTopology::nameOf(ThreadId thread) const
{
    const auto found = threadIndex_.find(thread);
    return found == threadIndex_.end() ? StringId{} : threads_[found->second].name;
}

const TracedStream* ExportTopology::streamOf(DeviceIndex device, StreamId stream) const
{
    const auto found = streamIndex_.find(streamKey(device, stream));
    return found == streamIndex_.end() ? nullptr : &streams_[found->second];
}

const TracedDevice* ExportTopology::deviceOf(DeviceIndex device) const
{
    const auto found = deviceIndex_.find(device);
    return found == deviceIndex_.end() ? nullptr : &devices_[found->second];
}

std::int64_t ExportTopology::nativeOf(DeviceIndex device, StreamId stream) const
{
    if (const TracedStream* known = streamOf(device, stream))
        return known->native;
    return stream ? static_cast<std::int64_t>(stream.value) : 0;
}

std::int32_t ExportTopology::ordinalOf(DeviceIndex device) const
{
    const bool areRecorded = !streams_.empty();
    if (const TracedDevice* known = areRecorded ? deviceOf(device) : nullptr)
        return known->ordinal;
    return std::max<std::int32_t>(device.value, 0);
}

std::uint32_t ExportTopology::nativeOf(CorrelationId correlation, std::size_t process) const
{
    const std::uint32_t first = processes_[process].firstCorrelation;
    return correlation && correlation.value > first ? correlation.value - first : 0;
}

std::size_t ExportTopology::processOf(DeviceIndex device) const
{
    for (const TracedStream& stream : streams_)
        if (stream.device == device)
            return processOf(stream.process);
    return 0;
}

} // namespace tilescope::exchange
