#pragma once

#include "core/exchange/import/kineto/kineto_event.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// The parts of a process id of a trace: `5000`, or `[TP00] 5000` as tools write that join the traces of ranks.
struct PidParts {
    std::string_view label;             ///< empty: a number alone, or a word of Kineto's: Spans, Traces
    std::optional<std::int64_t> number; ///< none: negative or absent
    bool isWhole = false;               ///< the label is the whole text
};
PidParts partsOfPid(std::string_view pid);

/// The rank that a label or name states: 3 in `rank 3`, `Rank_3`, `[rank3]`.
std::optional<std::int32_t> rankIn(std::string_view text);

/// The processes, threads, devices and streams of one Kineto trace. One thread.
///
/// A trace is usually of one process, whose pid its host events have; device events have the device's number instead.
/// Each pid, number or text, is a process. Device events go to the first process of their label until finish() gives
/// them to those that launched them.
class KinetoTopology {
public:
    /// \param name  of the file
    KinetoTopology(TraceBuilder& builder, const std::string& name);

    ProcessIndex mainProcess();
    ProcessIndex processOf(std::string_view pid);
    /// The process that has host events with that pid; none for devices.
    ProcessIndex knownProcess(std::string_view pid) const;
    /// The process that device events with this pid are added to.
    ProcessIndex holderOf(std::string_view pid);
    ThreadId threadOf(const KinetoEvent& event);
    DeviceIndex deviceOf(ProcessIndex process, std::int32_t ordinal);
    /// The device with that ordinal, of the last process that has one; none if no process has.
    DeviceIndex knownDevice(std::int64_t ordinal) const;
    StreamId streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                      std::string_view context);

    /// Notes that a process calls CUDA.
    void addCaller(ProcessIndex process)
    {
        if (process != lastCaller_)
            callers_.insert(lastCaller_ = process);
    }
    /// Notes an event without a category, as other programs than Kineto write.
    void addBare(std::string_view pid);
    /// The name of a process or thread; it may precede their events.
    void addName(const KinetoEvent& event);
    /// \param facts  of a device that may have activities
    void describeDevice(TracedDevice facts);
    void describeRank(std::optional<std::int32_t> rank, std::optional<std::int32_t> worldSize);
    /// `rank 1 of 8`; empty without a rank.
    std::string rankText() const;
    /// The clock of all events.
    ClockIndex clock() const { return clock_; }
    /// Once all events are known: names processes, threads and devices, and gives device events to their processes.
    void finish();
    /// Whether the flows of the file may tell who launched an activity: then give them to addFlow() and finishFlows().
    bool wantsFlows() const { return !ambiguous_.empty(); }
    void addFlow(const KinetoEvent& event);
    void finishFlows();
    /// Activities for which the file does not tell who launched them.
    std::int64_t ambiguous() const { return static_cast<std::int64_t>(ambiguous_.size()); }

private:
    struct LaterName {
        std::string pid;
        std::string tid; ///< empty: of the process
        std::string name;
    };
    struct Label {
        ProcessIndex holder = {}; ///< the first process, which device events are added to
        std::vector<ProcessIndex> processes = {};
    };
    struct Flow {
        ProcessIndex from = {};
        bool isUnique = true;
        std::vector<ForeignFlow> ends = {};
    };

    std::int64_t nativeThread(std::string_view tid);
    Label& labelOf(std::string_view label);
    void nameHost();
    void nameProcesses();
    void leaveOutUnreadDevices();
    void shareActivities(std::span<const ForeignFlow> flows);
    void assignRanks();
    void assignRanksOfLabels();

    TraceBuilder& builder_;
    const std::string fileName_;
    ClockIndex clock_;
    std::map<std::string, ProcessIndex, std::less<>> processes_; ///< by pid
    std::map<std::string, Label, std::less<>> labels_;
    std::set<ProcessIndex> callers_;
    ProcessIndex lastCaller_ = {};
    std::string lastDevicePid_;
    ProcessIndex lastHolder_ = {};
    std::set<std::string, std::less<>> bare_;                         ///< pids of events without a category
    std::map<std::pair<std::string, std::string>, ThreadId> threads_; ///< by pid and tid
    std::map<std::string, std::int64_t, std::less<>> wordThreads_;    ///< threads whose tid is a word
    std::string lastPid_;
    std::string lastTid_;
    ThreadId lastThread_ = {};
    std::map<std::int32_t, TracedDevice> deviceFacts_;
    std::map<std::pair<std::int32_t, std::int32_t>, DeviceIndex> devices_; ///< by process and ordinal
    std::map<std::pair<DeviceIndex, std::int64_t>, StreamId> streams_;
    std::vector<LaterName> names_;
    std::optional<std::int32_t> rank_;
    std::optional<std::int32_t> worldSize_;
    std::map<std::string, Flow, std::less<>> flows_; ///< by id
    std::set<std::uint32_t> ambiguous_;              ///< activities, which several labels may share
};

} // namespace tilescope::exchange
