#pragma once

#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// A process as exporters write it.
struct ExportedProcess {
    std::int64_t pid = 0; ///< unique in the run; the recorded pid, unless it is unknown or taken
    std::string name;     ///< python
    std::optional<std::int32_t> rank = {};
    std::optional<std::int32_t> worldSize = {};
    std::uint32_t firstCorrelation = 0;
    std::string host = {};        ///< empty without identity
    std::string commandLine = {}; ///< empty without identity
};

/// The processes, threads, devices and streams of a run with their native numbers. A run without such records
/// has one process, the run's own, with the run's numbers. Immutable; any thread may read it.
class ExportTopology {
public:
    /// \param withIdentity  whether to keep host, command line and home folders
    ExportTopology(const store::RunReader& reader, const store::RunRecord& run, bool withIdentity);

    /// The processes, at least one. Other members identify a process by its index in this list.
    const std::vector<ExportedProcess>& processes() const { return processes_; }
    const std::vector<TracedDevice>& devices() const { return devices_; }
    const std::vector<TracedStream>& streams() const { return streams_; }
    /// The named threads. Threads without a name may have events, too.
    const std::vector<ThreadName>& threads() const { return threads_; }

    std::size_t processOf(ThreadId thread) const;
    std::int64_t nativeOf(ThreadId thread) const;
    StringId nameOf(ThreadId thread) const;

    std::size_t processOf(ProcessIndex process) const;
    std::size_t processOf(const DeviceEvent& event) const { return processOf(event, event.launchThread); }
    /// The process that uses a stream, or the process of `thread` if the stream has no record.
    template <class OnStream> std::size_t processOf(const OnStream& event, ThreadId thread) const
    {
        const TracedStream* stream = streamOf(event.device, event.stream);
        return stream ? processOf(stream->process) : processOf(thread);
    }
    /// nullptr without a record.
    const TracedStream* streamOf(DeviceIndex device, StreamId stream) const;
    const TracedDevice* deviceOf(DeviceIndex device) const;
    std::int64_t nativeOf(DeviceIndex device, StreamId stream) const;
    /// CUDA's number of a device in its process; 0 for none.
    std::int32_t ordinalOf(DeviceIndex device) const;
    /// CUDA's number of a launch; 0 for none.
    std::uint32_t nativeOf(CorrelationId correlation, std::size_t process) const;
    /// The process that uses a device, if only one does; otherwise the first.
    std::size_t processOf(DeviceIndex device) const;

private:
    void addProcesses(const store::RunRecord& run, const std::vector<TracedProcess>& recorded,
                      const std::vector<EnvironmentEntry>& environment, bool withIdentity);

    std::vector<ExportedProcess> processes_;
    std::vector<TracedDevice> devices_;
    std::vector<TracedStream> streams_;
    std::vector<ThreadName> threads_;
    std::unordered_map<std::int32_t, std::size_t> processIndex_;
    std::unordered_map<ThreadId, std::size_t> threadIndex_;
    std::unordered_map<DeviceIndex, std::size_t> deviceIndex_;
    std::unordered_map<std::uint64_t, std::size_t> streamIndex_;
};

} // namespace tilescope::exchange
