#pragma once

#include "core/exchange/import/kineto/kineto_event.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// Turns the events of one Kineto trace into records of a builder. One thread.
///
/// A trace is of one process. Its pid is that of its host events; device events carry the device's number
/// instead. Device events of a file that joins several processes go to the first process that calls CUDA,
/// except those whose correlation id a later process has used before.
class KinetoReader {
public:
    /// \param name  of the file
    KinetoReader(TraceBuilder& builder, std::string name);

    void addEvent(const KinetoEvent& event);
    /// A member of the top-level object: deviceProperties, distributedInfo, baseTimeNanoseconds, …
    /// \param text  JSON
    void addMember(const std::string& key, const std::string& text);
    /// Adds what needs the whole file: names, clock, rank, collectives without kernel, losses.
    void finish();

    std::int64_t events() const { return events_; }
    /// `rank 1 of 8`; empty without a rank.
    std::string rankText() const;

private:
    struct HostCollective {
        ForeignCollective collective; ///< views are kept alive by the builder's strings
        ThreadId thread;
        std::uint64_t externalId = 0;
        Timestamp start;
        Timestamp end;
    };
    struct LaterName {
        std::string pid;
        std::string tid; ///< empty: of the process
        std::string name;
    };
    struct Times {
        Timestamp start;
        Timestamp end;
    };

    void addInterval(const KinetoEvent& event);
    void addInstant(const KinetoEvent& event);
    void addName(const KinetoEvent& event);
    void addHostInterval(const KinetoEvent& event, Times times);
    void addOp(const KinetoEvent& event, ThreadId thread, Times times);
    void addRange(const KinetoEvent& event, ThreadId thread, Times times);
    void addFrame(const KinetoEvent& event, ThreadId thread, Times times);
    void addActivity(const KinetoEvent& event, DeviceEventKind kind, Times times);
    void addWait(const KinetoEvent& event, Times times);
    void addHostCollective(const KinetoEvent& event, ThreadId thread, Times times);
    ForeignCollective collectiveOf(const KinetoEvent& event, std::string_view op);
    bool timesOf(const KinetoEvent& event, Times& times);

    ProcessIndex mainProcess();
    ProcessIndex processOf(std::string_view pid);
    ProcessIndex processOfActivity(std::uint32_t correlation);
    ThreadId threadOf(const KinetoEvent& event);
    std::int64_t nativeThread(std::string_view tid);
    DeviceIndex deviceOf(ProcessIndex process, std::int32_t ordinal);
    StreamId streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                      std::string_view context);
    std::uint32_t correlationOf(std::string_view text);
    std::uint64_t numberOf(std::string_view text);
    std::string_view kept(std::string_view text);

    void readDevices(const std::string& text);
    void readDistributed(const std::string& text);
    void readVersion(const std::string& key, const std::string& text);
    void nameThreads();
    void addHostCollectives();
    void addCounter(const KinetoEvent& event);
    void addCounters();

    TraceBuilder& builder_;
    std::string name_;
    ClockIndex clock_;
    std::int64_t events_ = 0;

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
    std::map<std::tuple<std::string, std::string, std::string>, CounterTrack>
        counters_; ///< by pid, name and key
    std::vector<LaterName> names_;
    std::vector<HostCollective> hostCollectives_;
    std::unordered_map<std::uint64_t, std::uint32_t> collectiveKernels_; ///< correlation by external id
    std::unordered_set<std::uint64_t> describedKernels_; ///< external ids of kernels that describe theirs
    std::map<std::string, std::int64_t, std::less<>> notStored_;
    std::int64_t untimed_ = 0;
    std::int64_t odd_ = 0;
    std::string shapes_;
};

} // namespace tilescope::exchange
