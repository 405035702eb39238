#pragma once

#include "core/exchange/import/kineto/kineto_event.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// The processes, threads, devices and streams of one Kineto trace. One thread.
///
/// A trace is of one process. Its pid is that of its host events; device events carry the device's number
/// instead. Device events of a file that joins several processes go to the first process that calls CUDA,
/// except those whose correlation id a later process has used before.
class KinetoParties {
public:
    /// \param name  of the file
    KinetoParties(TraceBuilder& builder, const std::string& name);

    ProcessIndex mainProcess();
    ProcessIndex processOf(std::string_view pid);
    /// The process that has host events with that pid; none for devices.
    ProcessIndex knownProcess(std::string_view pid) const;
    ProcessIndex processOfActivity(std::uint32_t correlation);
    ThreadId threadOf(const KinetoEvent& event);
    DeviceIndex deviceOf(ProcessIndex process, std::int32_t ordinal);
    /// The device with that ordinal, of the last process that has one; none if no process has.
    DeviceIndex knownDevice(std::int64_t ordinal) const;
    StreamId streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                      std::string_view context);

    /// A call of CUDA, which launches the activities with its correlation id.
    void addCaller(ProcessIndex process, std::uint32_t correlation);
    /// The name of a process or thread; it may precede their events.
    void addName(const KinetoEvent& event);
    /// \param facts  of a device that may have activities
    void describeDevice(TracedDevice facts);
    /// `rank 1 of 8`; empty without a rank.
    std::string rankText() const;
    /// The clock of all events.
    ClockIndex clock() const { return clock_; }
    /// Gives processes and threads their names, once all events are known.
    void finish();

private:
    struct LaterName {
        std::string pid;
        std::string tid; ///< empty: of the process
        std::string name;
    };

    std::int64_t nativeThread(std::string_view tid);

    TraceBuilder& builder_;
    ClockIndex clock_;
    std::map<std::string, ProcessIndex, std::less<>> processes_; ///< by pid
    ProcessIndex main_ = {};
    ProcessIndex firstCaller_ = {}; ///< the first process that called CUDA
    std::unordered_map<std::uint32_t, ProcessIndex> laterCallers_;
    std::map<std::pair<std::string, std::string>, ThreadId> threads_; ///< by pid and tid
    std::map<std::string, std::int64_t, std::less<>> wordThreads_;    ///< threads whose tid is a word
    std::string lastPid_;
    std::string lastTid_;
    ThreadId lastThread_ = {};
    std::map<std::int32_t, TracedDevice> deviceFacts_;
    std::map<std::pair<std::int32_t, std::int32_t>, DeviceIndex> devices_; ///< by process and ordinal
    std::map<std::pair<DeviceIndex, std::int64_t>, StreamId> streams_;
    std::vector<LaterName> names_;
};

} // namespace tilescope::exchange
