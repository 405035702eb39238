#pragma once

#include "core/analysis/time/process_steps.h"
#include "core/query/compare/call_sums.h"
#include "core/query/compare/device_works.h"
#include "core/query/compare/step_side.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/step_paths.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <span>
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
    /// \param reader, side  must outlive this object
    GpuSide(const store::RunReader& reader, RunId run, const ProcessQuery& topology, StepScope scope,
            StepSide& side);

    void add(const Range& range);
    void endRanges();
    void add(const ApiCall& call)
    {
        if (filter_.has(call.thread))
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
    void addPartitions();
    /// \return  what is covered by it too
    std::vector<analysis::Interval> addExposed(std::vector<Piece>& pieces,
                                               std::vector<analysis::Interval> covered, CallTimes& times);
    void addAllocations();

    const store::RunReader& reader_;
    StepScope scope_;
    ProcessFilter filter_;
    StepChoice choice_;
    DeviceWorks works_;
    StepSide& side_;
    CallSums calls_;
    StepPaths stepPaths_;
    analysis::ProcessSteps parts_;
    std::vector<Range> steps_;
    std::vector<analysis::Interval> walls_;
    std::vector<analysis::Interval> compute_;
    std::vector<Piece> communication_;
    std::vector<Piece> copies_;
    std::unordered_map<StringId, double> allocated_; ///< bytes by path
};

/// Adds all events of the run, those of each process.
void addGpuRun(const store::RunReader& reader, RunId run, std::span<const ProcessQuery> processes,
               StepScope scope, StepSide& side);

} // namespace tilescope::query
