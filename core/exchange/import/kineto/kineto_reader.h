#pragma once

#include "core/exchange/import/kineto/kineto_topology.h"

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
class KinetoReader {
public:
    /// \param name  of the file
    KinetoReader(TraceBuilder& builder, const std::string& name);

    void addEvent(const KinetoEvent& event);
    /// A member of the top-level object: deviceProperties, distributedInfo, baseTimeNanoseconds, …
    /// \param text  JSON
    void addMember(const std::string& key, const std::string& text);
    /// Adds what needs the whole file: names, clock, rank, collectives, losses.
    void finish();
    /// Whether the arrows of the file are needed to finish: give all events to addFlow() again, then call finishFlows().
    bool wantsFlows() const { return topology_.wantsFlows(); }
    void addFlow(const KinetoEvent& event) { topology_.addFlow(event); }
    void finishFlows();

    /// Begin and end events, which are not read.
    std::int64_t beginsAndEnds() const { return beginsAndEnds_; }
    /// Complete events without a readable start or duration.
    std::int64_t untimed() const { return untimed_; }
    /// Scopes within kernels, which are not read.
    std::int64_t withinKernels() const { return withinKernels_; }
    /// Intervals, begins and ends.
    std::int64_t timedEvents() const { return intervals_ + beginsAndEnds_; }
    std::int64_t events() const { return events_; }
    /// `rank 1 of 8`; empty without a rank.
    std::string rankText() const { return topology_.rankText(); }

private:
    struct HostCollective {
        ForeignCollective collective; ///< views are kept alive by the builder's strings
        ThreadId thread;
        std::uint64_t externalId = 0;
        Timestamp start;
        Timestamp end;
    };
    struct KernelCollective {
        ForeignCollective collective; ///< views are kept alive by the builder's strings, or literals
        std::uint32_t activity = 0;   ///< number of the kernel
        std::uint32_t correlation = 0;
    };
    struct Times {
        Timestamp start;
        Timestamp end;
    };

    void addInterval(const KinetoEvent& event);
    void addInstant(const KinetoEvent& event);
    void addHostInterval(const KinetoEvent& event, Times times);
    void addOp(const KinetoEvent& event, ThreadId thread, Times times);
    void addRange(const KinetoEvent& event, ThreadId thread, Times times);
    void addFrame(const KinetoEvent& event, ThreadId thread, Times times);
    void addActivity(const KinetoEvent& event, DeviceEventKind kind, Times times);
    void addKernelCollective(const KinetoEvent& event, std::uint32_t activity, std::uint32_t correlation,
                             std::uint64_t externalId);
    void addWait(const KinetoEvent& event, Times times);
    void addHostCollective(const KinetoEvent& event, ThreadId thread, Times times);
    ForeignCollective collectiveOf(const KinetoEvent& event, std::string_view op);
    bool timesOf(const KinetoEvent& event, Times& times);

    std::uint32_t correlationOf(std::string_view text);
    std::uint64_t numberOf(std::string_view text);
    std::string_view kept(std::string_view text);

    void finishRecords();
    void addCollectives();
    void addCounter(const KinetoEvent& event);
    void addCounters();

    TraceBuilder& builder_;
    KinetoTopology topology_;
    std::int64_t events_ = 0;

    std::map<std::tuple<std::string, std::string, std::string>, CounterTrack>
        counters_; ///< by pid, name and key
    std::vector<HostCollective> hostCollectives_;
    std::vector<KernelCollective> describedCollectives_; ///< by the arguments of their kernels
    std::vector<KernelCollective> namedKernels_;         ///< whose name alone says what they do
    /// Number and correlation of a kernel, by external id.
    std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> collectiveKernels_;
    std::unordered_set<std::uint64_t> describedKernels_; ///< external ids of kernels that describe theirs
    std::map<std::string, std::int64_t, std::less<>> notStored_;
    std::map<std::string, std::int64_t, std::less<>> notRead_; ///< by category
    std::int64_t intervals_ = 0;
    std::int64_t beginsAndEnds_ = 0;
    std::int64_t withinKernels_ = 0; ///< scopes within kernels, which are not read
    std::int64_t untimed_ = 0;
    std::int64_t odd_ = 0;
    std::string shapes_;
    std::string path_;
};

} // namespace tilescope::exchange
