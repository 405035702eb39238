#pragma once

#include "core/analysis/path/device_activities.h"
#include "core/analysis/path/host_spans.h"
#include "core/analysis/path/launch_queues.h"
#include "core/analysis/path/loaded_batches.h"
#include "core/analysis/path/recording_view.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// What the threads of a recording did as activities, in program order.
///
/// A call that waits for the device is an activity only after the awaited work: the work that the recorded wait
/// names, or else the last work of the process before the call returned. A launch or copy waits while the queue of its
/// stream is full. A call that copies pageable memory waits for the work before the copy on its stream. A thread
/// also waits while it is in no op or call and another thread of the process works for at least half of the
/// time, as in backward, or for a quarter of it if that thread had paused and begins at once. If both are silent for long,
/// as while a tracer writes its buffers, it is enough that the other thread begins as soon as this one is silent, or falls
/// silent just before this one continues. While a thread waits for a batch of a data loader, the processes of the loader
/// work, which are not recorded (loadedBatches()). The first activity of a thread depends on the last activity of another thread of the
/// process. A thread that only runs collectives begins one when an op of another thread submits it; that op may
/// continue. A collective on the host has an empty activity for its arrival; its transfer begins when the last
/// rank has arrived.
class HostActivities {
public:
    /// \param parts  receives activities and dependencies; kept by the caller
    HostActivities(const RecordingView& view, const DeviceActivities& device, GraphParts& parts);

    /// When the thread submitted a device event: when it called or, if the call waited, when it went on.
    Timestamp submitted(const DeviceEvent& event) const;
    /// The last activity of a thread that ends at `time` or before it.
    std::optional<std::uint32_t> endingAt(ThreadId thread, Timestamp time) const;

private:
    struct Event {
        HostEvent host{};
        int layer = 0;
        PathPart part = PathPart::Host;
        const ApiCall* call = nullptr;
        std::optional<std::size_t> collective = {}; ///< index of its record
        bool mayWait = false;                       ///< the thread may wait for another thread
        bool isActive = false; ///< an op, a call or a collective: another thread may wait for it
        bool loads = false;    ///< it loads the next batch
        bool takes = false;    ///< it takes the next batch from other processes
    };
    struct Ended {
        Timestamp time{};
        std::uint32_t activity = 0;
    };
    struct Lane {
        ThreadId thread = {};
        ProcessIndex process = {};
        std::vector<Event> events = {};
        std::vector<Timestamp> launches = {};
        std::vector<HostSpan> spans = {};
        std::vector<Interval> active = {}; ///< in order
        std::vector<Ended> ended = {};     ///< its activities, by end
        std::uint32_t source = 0;          ///< number of the time between its events
        /// Batches that it takes from other processes, by the time at which it takes them.
        std::vector<std::pair<Interval, LoadedBatch>> batches = {};
        std::vector<std::uint32_t> loadings = {}; ///< their activities
        bool isForCollectives = false;            ///< it has collectives and ranges, but no ops or calls
    };
    /// A collective on the host.
    struct CollectiveCalls {
        Timestamp ready{}; ///< when the last rank has arrived
        std::vector<std::uint32_t> arrivals;
        std::vector<std::uint32_t> transfers;
    };
    /// An activity that continues what another lane has finished.
    struct HandOver {
        std::size_t lane = 0;
        Timestamp time{};
        std::uint32_t to = 0;
        bool isWithin = false; ///< the other lane continues after the hand-over
    };

    Lane& laneOf(ThreadId thread);
    void addEvent(ThreadId thread, Event event, const PathSource& source);
    void readEvents();
    void readCalls();
    void readCollectives();
    void cutLanes();
    void findActive(Lane& lane);
    void findBatches(Lane& lane);
    void addActivities(std::size_t lane);
    void addLoadings(Lane& lane, std::size_t index);
    void letTakesMakeRoom(const Lane& lane);
    void addWaited(Lane& lane, const ApiCall& call, Interval span, PathPart part, std::uint32_t source,
                   const DeviceActivities::End& end);
    void addCollective(Lane& lane, Interval span, const Event& event);
    void addHandOvers();
    void addCollectives();
    std::uint32_t addSpan(Lane& lane, Interval time, PathPart part, std::uint32_t source);
    std::optional<DeviceActivities::End> awaited(const Lane& lane, const ApiCall& call, Interval span) const;
    bool waitsForDevice(const ApiCall& call) const;
    const Wait* waitOf(const ApiCall& call) const;
    bool isAwaitedBy(const ApiCall& call, const DeviceEvent& event) const;
    std::optional<DeviceActivities::End> endedBefore(const Lane& lane, const ApiCall& call,
                                                     Timestamp time) const;
    void findStagedCopies();
    DeviceActivities::End endOf(std::size_t event) const;
    std::optional<HandOver> handedOver(std::size_t lane, Interval span) const;
    std::optional<HandOver> startedBy(std::size_t lane) const;
    std::optional<HandOver> submittedBy(std::size_t lane, Timestamp time) const;

    const RecordingView& view_;
    const DeviceActivities& device_;
    GraphParts& parts_;
    std::vector<Lane> lanes_;
    std::unordered_map<ThreadId, std::size_t> threads_;
    std::map<ProcessIndex, std::vector<std::size_t>> processes_;
    /// A call of a copy that waits for the work before the copy, and stages the data before it submits the copy.
    struct StagedCopy {
        std::size_t before = 0; ///< the device event that it waits for
        Timestamp submitted{};
        bool hasWaited = false; ///< otherwise that event had ended before the call
    };

    LaunchQueues queues_;
    std::unordered_map<std::uint32_t, const Wait*> waits_;       ///< waits of the host, by correlation
    std::unordered_map<std::uint32_t, StagedCopy> stagedCopies_; ///< by correlation
    std::vector<HandOver> handOvers_;
    std::vector<CollectiveCalls> collectives_;
    std::vector<std::size_t> collectiveOf_; ///< by record of a collective
};

} // namespace tilescope::analysis
