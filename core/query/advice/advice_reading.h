#pragma once

#include "core/analysis/advice/recomputation.h"
#include "core/analysis/steps/start_cause.h"
#include "core/analysis/time/data_loading.h"
#include "core/analysis/time/step_walls.h"
#include "core/analysis/time/unrecorded_work.h"
#include "core/query/advice/activity_kinds.h"
#include "core/query/advice/advice_trace.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::query {

/// What the processes of a run have in common while their traces are read.
struct AdvisedRun {
    AdvisedRun(const store::RunReader& ofReader, const store::RunRecord& ofRun, const StepChoice& ofSteps,
               AdviceSources& ofAll, const std::function<bool()>& isCancelled)
        : reader(ofReader), run(ofRun), choice(ofSteps), sources(ofAll), cancelled(isCancelled),
          topology(ofReader.topology(ofRun.run)), environment(ofReader.environment(ofRun.run)),
          counts(ofReader.counts(ofRun.run)), computedSteps(threadsOfComputedSteps(ofReader, ofRun.run)),
          textOf(textsOf(ofReader)), kernels(ofReader, ofRun.run)
    {
    }

    const store::RunReader& reader;
    const store::RunRecord& run;
    const StepChoice& choice;
    AdviceSources& sources;
    const std::function<bool()>& cancelled;
    const RunTopology topology;
    const std::vector<EnvironmentEntry> environment;
    const store::EventCounts counts;
    const std::unordered_set<ThreadId> computedSteps; ///< their threads
    const analysis::TextOf textOf;
    RunKernels kernels;
    analysis::RecomputedOps recomputation;
    CorrelationSet collectives; ///< of their kernels

    ProcessFilter filterOf(const ProcessQuery& query)
    {
        if (!query.rank && !query.pid)
            return {reader, run.run, query};
        if (!filter_)
            filter_.emplace(reader, run.run, query);
        return {*filter_, query};
    }
    /// Read when a process needs them.
    const std::vector<analysis::RecordedStep>& steps(const TopologyIndex& index)
    {
        if (!steps_)
            steps_ = pathSteps(reader, run.run, index, cancelled);
        return *steps_;
    }

private:
    std::optional<ProcessFilter> filter_; ///< the first of a process
    std::optional<std::vector<analysis::RecordedStep>> steps_;
};

/// The trace of one process. Events come by kind, each kind nearly in start order: ranges, ops, calls, device events,
/// frames, allocations, those that addToReadings() lists. Host events are of the process (PerProcess).
class AdviceReading {
public:
    /// \param all  kept by the caller
    AdviceReading(AdvisedRun& all, const ProcessQuery& topology, const TracedProcess* process);

    const ProcessFilter& filter() const { return filter_; }
    bool onGpu() const { return trace_.onGpu; }

    AdviceTrace take();

    /// The first launch of the process: any call before it may initialise CUDA.
    bool knowsFirstWork() const { return firstWork_ != Timestamp::min(); }
    void noteFirstWork(const DeviceEvent& event);

    void add(const Range& range);
    /// The thread that counts is known once all steps are.
    void endRanges();
    /// Again, after endRanges(), of a run with a GPU.
    void addStart(const Range& range);
    void add(const Op& op);
    void endOps() { trace_.hasBackwardOps = all_.recomputation.hasBackward(); }
    /// Again, after endOps(), of a run without a GPU.
    void addRecomputed(const Op& op);
    void add(const ApiCall& call);
    void add(const DeviceEvent& event);
    /// Before the first frame.
    void beginFrames();
    /// Finds the function of the program that was open at each call that waits: the innermost that is not a library's.
    void add(const Frame& frame);
    void add(const AllocEvent& event);

private:
    struct WaitingCall {
        analysis::GroupedTime time{};
        StringId name = {};
        StringId path = {};
        ThreadId thread = {};
        Timestamp frameStart = Timestamp::min(); ///< of the innermost frame so far
        StringId frame = {};
        bool isLibrary = true;
    };

    void readDevices(const RunTopology& topology);
    /// The devices that the process uses; none: all.
    std::set<DeviceIndex> ownDevices() const;
    void addLoading(const char* kind, StringId name, ThreadId thread, Timestamp start, Timestamp end);
    /// Of another event than a call.
    void addLongStart(const char* kind, StringId name, ThreadId thread, const analysis::Interval& time);
    /// \return  whether the call is start-up
    bool addStartCall(const ApiCall& call);
    bool addStart(const char* kind, StringId name, bool isFirst, const analysis::Interval& time);
    bool launchesGraph(StringId call);
    /// Some thread is in an op or a call.
    void addCode(const analysis::Interval& time);
    void cover(Timestamp start, Timestamp end);
    /// The thread of a step; of one that is computed, that whose ranges end with such steps. None: unknown.
    ThreadId threadOf(const Range& step) const;
    /// For runs of Tilescope: a wait at the end of a step or phase is part of the measurement, not of the
    /// program.
    bool isOwnTiming(const ApiCall& call);
    /// The measurement also takes the time until the GPU has work again, because it emptied the queue.
    void addTiming();
    void addWait(const ApiCall& call);
    StringId pathOf(RangeId range) const
    {
        return range && range.value < rangePaths_.size() ? rangePaths_[range.value] : StringId{};
    }
    /// A launch that takes long, and is the first one of its kernel, loads the kernel.
    void addFirstLaunch(const DeviceEvent& event);
    void finish();
    /// Leaves out the steps that are not typical.
    void keepTypical();
    /// The step in whose range on the host an instant lies.
    std::optional<std::size_t> stepAt(Timestamp time) const;
    void noteLaunch(std::optional<std::size_t> step, Timestamp time);
    void noteActivity(const DeviceEvent& event);
    /// The last time at which the host worked on something for the GPU, by the rule of partitionStep(): a
    /// step's own launches, the start of waiting calls, and the first launch of the next step if its work ends this one; and
    /// whether it is known that the host was late after that.
    void noteErrands();

    static constexpr std::int16_t kMostDevices = 64;
    static constexpr std::uint32_t kMostNumbered = 1U << 28; // numbers of a damaged file

    AdvisedRun& all_;
    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const StepChoice& choice_;
    AdviceSources& sources_;
    const analysis::TextOf& textOf_;
    ProcessFilter filter_;
    AdviceTrace trace_;
    std::optional<std::int32_t> process_ = {}; ///< number in the run; none: the only one
    analysis::StepWalls walls_;
    StepPaths stepPaths_{reader_};
    std::vector<Range> steps_;
    std::vector<Range> loadingRanges_;
    analysis::Interval whole_{Timestamp::max(), Timestamp::min()};
    ThreadId mainThread_ = {}; ///< of the steps
    std::vector<StringId> rangePaths_;
    std::vector<WaitingCall> waits_;
    std::unordered_map<ThreadId, std::vector<WaitingCall*>> waitsByThread_;
    std::vector<analysis::Interval> waitedFor_; ///< of older files: within the calls
    analysis::UnrecordedWork unrecorded_;
    std::vector<analysis::Interval> timing_;   ///< waits of Tilescope's own measurement
    std::vector<Timestamp> starts_;            ///< of calls that wait, or let a stream wait
    std::vector<Timestamp> lastLaunches_;      ///< by step
    std::vector<Timestamp> firstLaunches_;     ///< by step, of its work on the device
    Timestamp firstErrand_ = Timestamp::max(); ///< a launch, or a call that waits
    Timestamp lastLaunch_ = Timestamp::min();
    Timestamp busyUntil_ = Timestamp::min(); ///< the devices of the process
    ActivityKinds kinds_;
    analysis::DataNames dataNames_;
    struct LongLaunch {
        analysis::Interval time{};
        StringId name = {};
    };
    Timestamp firstWork_ = Timestamp::min();
    std::map<std::pair<StringId, bool>, analysis::StartCause>
        startCauses_;                                            ///< by name, and whether it was a first call
    std::unordered_map<std::uint32_t, LongLaunch> longLaunches_; ///< by correlation
    std::unordered_set<StringId> launchedNames_;
    std::unordered_map<StringId, bool> graphCalls_;   ///< by name
    std::unordered_set<std::uint32_t> graphLaunches_; ///< correlations
};

} // namespace tilescope::query
