#pragma once

#include "core/analysis/time/process_steps.h"
#include "core/query/compare/call_sums.h"
#include "core/query/compare/device_works.h"
#include "core/query/compare/side_totals.h"
#include "core/query/compare/step_side.h"
#include "core/query/runs/per_process.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/step_paths.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// The step that an event counts to; kNoStep: none.
inline std::int32_t countedStep(std::int32_t step, StepScope scope)
{
    return scope == StepScope::Recording ? 0 : step;
}

/// Adds one run with device events to a side of a comparison, event by event.
///
/// Pass ranges first, then call endRanges(); then pass host calls, device events and finally allocations,
/// each kind in start order. One thread.
class GpuSide {
public:
    /// What the sides of all processes of a run have in common.
    struct Run {
        Run(const store::RunReader& ofReader, RunId id, StepScope ofScope, bool allSteps);

        const store::RunReader& reader;
        RunId run;
        StepScope scope;
        SideTotals totals;
        StepChoice choice;
        DeviceWorks works;

        ProcessFilter filterOf(const ProcessQuery& query);

    private:
        std::optional<ProcessFilter> ofProcess_ = {}; ///< the first of a process
    };

    /// \param run, side  must outlive this object
    GpuSide(Run& run, const ProcessQuery& topology, StepSide& side);

    const ProcessFilter& filter() const { return filter_; }

    void add(const Range& range);
    void endRanges();
    /// After endRanges(): whether the totals do not suffice.
    bool needsCalls() const { return !stored_; }
    bool needsAllocations() const { return !storedAllocations_; }
    void add(const ApiCall& call)
    {
        if (!stored_ && filter_.has(call.thread))
            parts_.addCall(call.kind, {call.start, call.end});
    }
    void add(const DeviceEvent& event);
    void add(const AllocEvent& event);
    /// Nothing may be added after.
    void finish();

private:
    /// Work that counts only while nothing else runs.
    struct Piece {
        analysis::Interval time;
        StringId path;
        StringId name;
        DeviceEventKind kind;
    };

    /// Whether the means contain the step of the process.
    bool counts(ProcessIndex process, std::int32_t step) const;
    void takeTotals();
    void addPartitions();
    /// \return  what is covered by it too
    std::vector<analysis::Interval> addExposed(std::vector<Piece>& pieces,
                                               std::vector<analysis::Interval> covered, CallTimes& times);
    void addAllocations();

    Run& run_;
    const store::RunReader& reader_;
    const ProcessQuery query_;
    const StepScope scope_;
    ProcessFilter filter_;
    StepSide& side_;
    CallSums calls_;
    StepPaths stepPaths_;
    analysis::ProcessSteps parts_;
    std::vector<Range> steps_;
    std::optional<std::vector<analysis::StepPartition>> stored_; ///< of `steps_`; none: `parts_` has them
    const std::map<StringId, double>* storedAllocations_ = nullptr;
    std::vector<analysis::Interval> walls_;
    std::vector<analysis::Interval> compute_;
    std::vector<Piece> communication_;
    std::vector<Piece> copies_;
    std::unordered_map<StringId, double> allocated_; ///< bytes by path
};

/// Passes an event to those of its process.
inline void addToSides(PerProcess<GpuSide>& sides, const auto& event)
{
    const auto add = [&event](GpuSide& side) { side.add(event); };
    using Event = std::remove_cvref_t<decltype(event)>;
    if constexpr (std::is_same_v<Event, DeviceEvent>)
        sides.forThose(event, add);
    else if constexpr (std::is_same_v<Event, AllocEvent>)
        sides.forThose(event.device, add);
    else
        sides.forThose(event.thread, add);
}

/// Adds all events of the run, those of each process.
void addGpuRun(const store::RunReader& reader, RunId run, std::span<const ProcessQuery> processes,
               StepScope scope, StepSide& side);

} // namespace tilescope::query
