#pragma once

#include "core/model/code_place.h"
#include "core/model/events.h"
#include "core/model/memory.h"
#include "core/model/strings.h"
#include "core/trace/allocators/device_alloc_log.h"
#include "core/trace/assembly/graph_nodes.h"
#include "core/trace/assembly/launch_list.h"
#include "core/trace/assembly/launch_table.h"
#include "core/trace/assembly/reference_step.h"
#include "core/trace/host/host_record.h"
#include "core/trace/host/losses.h"
#include "core/trace/host/recording.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::trace {

/// Converts captured records to the events of the model: numbers become ids, paths and names become strings,
/// device activities are joined to their launches. Independent of threads, CUPTI and LibTorch.
///
/// One thread at a time. Add the records of launches before the activities that they caused.
class Assembler {
public:
    /// \param firstRange, firstOp  numbers in the process of the first range and op of this run
    Assembler(StringTable& strings, std::uint32_t firstRange, std::uint32_t firstOp);

    /// Starts a recording: discards launches, losses and counts of earlier ones.
    ///
    /// A reference step and a capture produce no events; later recordings use their results. The next recording of events
    /// gets the ops to which its launches, allocations and graph nodes refer; these ops belong to no step. Ops of a
    /// capture have the start time of the recording and no length, because the capture may have been long before.
    struct Wanted {
        bool ops = true;     ///< the following recordings have their own ops
        bool shapes = false; ///< else launches get the ops of the reference step
    };
    void begin(Recording recording, Wanted wanted);
    void begin(Recording recording = Recording::Events) { begin(recording, Wanted{}); }

    void addHost(std::uint32_t thread, const HostRecord& record);
    /// \param event  decoded, not yet attributed; times and names as CUPTI gave them
    void addActivity(DeviceEvent event);
    /// A replay of a graph as a whole; `path` where its nodes tell it. Ignores one whose launch was not recorded,
    /// because CUPTI records them between the parts of a recording as well.
    void addReplay(const DeviceEvent& event)
    {
        if (launches_.find(event.correlation.value))
            addActivity(event);
    }
    /// Where a node of a graph was captured; null if that is unknown.
    const HostContext* graphNode(std::uint64_t node) const { return graphNodes_.find(node); }
    /// A stretch of the host's time that CUPTI recorded as an activity: an overhead, a wait.
    void addCallActivity(ApiCall call);
    void addAllocation(const DeviceAllocRecord& record, DeviceIndex device, StreamId stream);
    void addThread(std::uint32_t thread, std::string_view name);

    /// Name of an API function by its number (HostRecord::ApiBody::function).
    using FunctionName = std::function<StringId(std::uint32_t function)>;
    void setFunctionName(FunctionName name) { functionName_ = std::move(name); }

    Losses& losses() { return losses_; }
    std::int64_t recordsChecked() const { return recordsChecked_; }
    /// Allocations of the last reference step, by time.
    std::vector<AllocEvent> referenceAllocations() const;
    /// The allocations of the last capture, by time, with the ops that requested them.
    CapturedStep captured() const;
    /// Where the ranges of this run's paths were opened.
    std::vector<CodePlace> places() const;
    /// Kernel launches of the step that Recording::Launches recorded, in order.
    LaunchList launchList() const;
    /// Events waiting in the batch.
    std::size_t pending() const;
    /// Returns the events assembled since the last call; each list is in start order.
    TraceBatch take();

    /// How soon after its launch an activity started at the least, in the first and in the last step with
    /// activities: if the clocks of host and device drift apart, so do the two.
    struct LaunchLatency {
        std::int32_t step = kNoStep;
        std::int64_t least = 0; ///< ns
    };
    const LaunchLatency& firstLatency() const { return firstLatency_; }
    const LaunchLatency& lastLatency() const { return lastLatency_; }

private:
    StringId pathOf(std::uint32_t node) { return textOf(node, paths_, true); }
    StringId nameOf(std::uint32_t node) { return textOf(node, names_, false); }
    StringId textOf(std::uint32_t node, std::vector<StringId>& cache, bool path);
    RangeId rangeId(std::uint32_t number) const;
    OpId opId(std::uint32_t number) const;
    StringId shapesOf(std::uint32_t thread, std::int32_t step, const HostRecord::OpBody& op);

    void runReferenceStep(std::uint32_t thread, const HostRecord& record);
    void list(const HostRecord& record);
    void addGraphNode(const HostRecord& record);
    void keepCapturedOp(std::uint32_t thread, const HostRecord& record);
    void addLaunch(std::uint32_t thread, const HostRecord& record);
    void addRange(std::uint32_t thread, const HostRecord& record);
    void addOp(std::uint32_t thread, const HostRecord& record);
    void addApi(std::uint32_t thread, const HostRecord& record);
    void addCpuAllocation(const HostRecord& record);
    void addFrame(std::uint32_t thread, const HostRecord& record);
    void keepAllocation(const AllocEvent& event);
    void handOverReferenceOps();
    void handOverCapturedOps();
    void attribute(DeviceEvent& event);
    void checkTimes(DeviceEvent& event);
    std::int32_t stepAt(std::int64_t time) const;
    void noteLatency(std::int32_t step, std::int64_t latency);
    void noteWait(const ApiCall& call);
    void checkAgainstWaits(const DeviceEvent& event);

    StringTable& strings_;
    std::uint32_t firstRange_;
    std::uint32_t firstOp_;
    Recording recording_ = Recording::Events;
    Wanted wanted_;
    FunctionName functionName_;
    TraceBatch batch_;
    Losses losses_;
    LaunchTable launches_;
    std::int64_t recordsChecked_ = 0;
    std::vector<StringId> paths_; // by PathNode::id
    std::vector<StringId> names_;
    ReferenceStep referenceStep_;
    std::vector<Op> referenceOps_; // for launches and allocations to point to
    std::vector<AllocEvent> referenceAllocations_;
    CapturedStep captured_;
    GraphNodes graphNodes_;
    std::unordered_set<OpId> capturingOps_; // that made nodes of graphs in the last capture
    std::vector<std::pair<std::uint32_t, std::uint32_t>> listedLaunches_; // correlation id and path
    std::vector<std::uint32_t> listedRanges_;                             // paths
    std::deque<std::pair<std::int64_t, std::int32_t>> stepChanges_; // the latest: when, and to which step
    std::deque<std::pair<Timestamp, Timestamp>> deviceWaits_;       ///< the latest: from when to when
    LaunchLatency firstLatency_;
    LaunchLatency lastLatency_;
};

} // namespace tilescope::trace
