#include "core/query/compare/gpu_side.h"

#include "core/analysis/time/exposed_time.h"
#include "core/query/runs/process_rank.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tilescope::query {

using analysis::DeviceWork;
using analysis::Interval;

GpuSide::Run::Run(const store::RunReader& ofReader, RunId id, StepScope ofScope, bool allSteps)
    : reader(ofReader), run(id), scope(ofScope), works(ofReader, id)
{
    if (scope == StepScope::Recording)
        return;
    totals = SideTotals(reader, run);
    choice = stepChoice(reader, run, {.allSteps = allSteps});
}

ProcessFilter GpuSide::Run::filterOf(const ProcessQuery& query)
{
    if (!query.rank && !query.pid)
        return {reader, run, query};
    if (!ofProcess_)
        ofProcess_.emplace(reader, run, query);
    return {*ofProcess_, query};
}

GpuSide::GpuSide(Run& run, const ProcessQuery& topology, StepSide& side)
    : run_(run), reader_(run.reader), query_(topology), scope_(run.scope), filter_(run.filterOf(topology)),
      side_(side), calls_(run.reader, side.calls), stepPaths_(run.reader)
{
    if (scope_ != StepScope::Recording)
        return;
    if (const auto span = reader_.span(run.run)) {
        parts_.addStep(0, {span->first, span->second});
        ++side_.steps;
    }
}

void GpuSide::add(const Range& range)
{
    if (scope_ != StepScope::Recording && stepPaths_.isStep(range) && filter_.has(range.thread))
        steps_.push_back(range);
}

void GpuSide::endRanges()
{
    std::ranges::sort(steps_, {}, &Range::start);
    for (const Range& range : steps_)
        parts_.addStep(range.step, {range.start, range.end});
    side_.steps += std::ranges::count_if(steps_, [this](const Range& range) {
        return counts(filter_.topology().of(range.thread), range.step);
    });
    if (scope_ != StepScope::Recording && !query_.device)
        takeTotals();
}

void GpuSide::takeTotals()
{
    const bool hasSeveral = filter_.topology().hasSeveral();
    const ProcessIndex process = hasSeveral ? filter_.process() : ProcessIndex{};
    if (hasSeveral && !process)
        return;
    if (const auto totals = run_.totals.stepsOf(process, steps_)) {
        stored_.emplace();
        for (const store::StepTotal& step : *totals)
            stored_->push_back({.wall = {step.start, step.end},
                                .gpuBusy = step.gpuBusy,
                                .launching = step.launching,
                                .synchronizing = step.synchronizing,
                                .tracing = step.tracing,
                                .unexplained = step.unexplained});
    }
    // The totals are of all steps.
    if (std::ranges::all_of(steps_, [&](const Range& step) { return counts(process, step.step); }))
        storedAllocations_ = run_.totals.allocatedIn(process);
}

bool GpuSide::counts(ProcessIndex process, std::int32_t step) const
{
    return run_.choice.isTypical(numbersOf(filter_.topology(), process).process, step);
}

void GpuSide::add(const DeviceEvent& event)
{
    if (!filter_.has(event))
        return;
    const DeviceWork work = run_.works.of(event);
    const std::int32_t step = countedStep(event.step, scope_);
    if (stored_) {
        // Its time is in the totals.
    } else if (step == event.step) {
        parts_.addDeviceEvent(event, work);
    } else {
        DeviceEvent counted = event;
        counted.step = step;
        parts_.addDeviceEvent(counted, work);
    }
    if (work != DeviceWork::Compute) {
        (work == DeviceWork::Copy ? copies_ : communication_)
            .push_back({{event.start, event.end}, event.path, event.name, event.kind});
        return;
    }
    if (!compute_.empty() && event.start >= compute_.back().start && event.start <= compute_.back().end)
        compute_.back().end = std::max(compute_.back().end, event.end);
    else
        compute_.push_back({event.start, event.end});
    if (step != kNoStep && counts(filter_.topology().of(event.device, event.stream), step))
        calls_.add(event.path, event.name, event.kind, event.end - event.start);
}

void GpuSide::add(const AllocEvent& event)
{
    if (!storedAllocations_ && event.action == AllocAction::Alloc && event.device &&
        filter_.hasDevice(event.device) && countedStep(event.step, scope_) != kNoStep &&
        counts(filter_.topology().of(event.device), event.step))
        allocated_[event.path] += static_cast<double>(event.bytes);
}

void GpuSide::finish()
{
    addPartitions();
    std::vector<Interval> covered = unionOf(std::move(compute_));
    covered = addExposed(communication_, std::move(covered), side_.communication);
    addExposed(copies_, std::move(covered), side_.copies);
    addAllocations();
}

void GpuSide::addPartitions()
{
    const std::vector<analysis::StepPartition> partitions = stored_ ? *stored_ : parts_.partitions();
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const analysis::StepPartition& part = partitions[i];
        if (scope_ != StepScope::Recording &&
            !counts(filter_.topology().of(steps_[i].thread), steps_[i].step))
            continue;
        walls_.push_back(part.wall);
        side_.wall += nsOf(part.wall.length());
        side_.idle.launching += nsOf(part.launching);
        side_.idle.synchronizing += nsOf(part.synchronizing);
        side_.idle.tracing += nsOf(part.tracing);
        side_.idle.unexplained += nsOf(part.unexplained);
        side_.compute += nsOf(part.gpuBusy);
    }
    std::ranges::sort(walls_, {}, &Interval::start);
}

std::vector<Interval> GpuSide::addExposed(std::vector<Piece>& pieces, std::vector<Interval> covered,
                                          CallTimes& times)
{
    if (pieces.empty())
        return covered;
    std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.time.start; });
    std::vector<Interval> intervals;
    intervals.reserve(pieces.size());
    for (const Piece& piece : pieces)
        intervals.push_back(piece.time);
    const std::vector<Nanoseconds> exposed = analysis::exposedTimes(intervals, covered, walls_);
    CallSums sums(reader_, times);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (exposed[i].count() == 0)
            continue;
        sums.add(pieces[i].path, pieces[i].name, pieces[i].kind, exposed[i]);
        side_.compute -= nsOf(exposed[i]);
    }
    covered.insert(covered.end(), intervals.begin(), intervals.end());
    return unionOf(std::move(covered));
}

void GpuSide::addAllocations()
{
    if (storedAllocations_)
        allocated_ = {storedAllocations_->begin(), storedAllocations_->end()};
    for (const auto& [path, sum] : allocated_)
        side_.allocated[path ? alignedModule(reader_.text(path)) : std::string()] += sum;
}

void addGpuRun(const store::RunReader& reader, RunId run, std::span<const ProcessQuery> processes,
               StepScope scope, StepSide& side)
{
    GpuSide::Run ofRun(reader, run, scope, !processes.empty() && processes.front().allSteps);
    PerProcess<GpuSide> sides;
    for (const ProcessQuery& process : processes)
        sides.emplace(ofRun, process, side);
    const auto add = [&sides](const auto& event) {
        addToSides(sides, event);
        return true;
    };
    if (scope != StepScope::Recording)
        reader.eachRange({.run = run}, add);
    for (GpuSide& each : sides.list())
        each.endRanges();
    if (std::ranges::any_of(sides.list(), &GpuSide::needsCalls))
        reader.eachApiCall({.run = run}, add);
    reader.eachDeviceEvent({.run = run}, add);
    if (std::ranges::any_of(sides.list(), &GpuSide::needsAllocations))
        reader.eachAllocEvent({.run = run}, add);
    for (GpuSide& each : sides.list())
        each.finish();
}

} // namespace tilescope::query
