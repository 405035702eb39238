#include "core/exchange/import/run_steps.h"

#include "core/model/computed_steps.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilescope::exchange {

RunSteps::RunSteps(ForeignTrace& trace) : trace_(trace)
{
    const std::size_t count = trace_.parties.processes.size();
    std::vector<std::vector<StepCandidate>> candidates(count);
    std::vector<std::int64_t> first(count, std::numeric_limits<std::int64_t>::max());
    std::vector<char> mayDelimit; // by name: 0 unknown, 1 no, 2 yes
    for (std::size_t i = 0; i < trace_.host.size(); ++i) {
        const HostRow& row = trace_.host[i];
        const auto process = static_cast<std::size_t>(trace_.processOf(row).value);
        first[process] = std::min(first[process], row.start);
        const bool isMarked = row.kind == HostKind::Step;
        if (!isMarked && row.kind != HostKind::Range)
            continue;
        if (row.name >= mayDelimit.size())
            mayDelimit.resize(std::max<std::size_t>(row.name + 1, 2 * mayDelimit.size()), 0);
        const std::string_view name = trace_.strings.text(StringId{row.name});
        char& known = mayDelimit[row.name];
        if (known == 0)
            known = mayDelimitSteps(name) ? 2 : 1;
        if (isMarked || known == 2)
            candidates[process].push_back({name, i, row.thread, row.start, row.end, isMarked});
    }
    processes_.resize(count);
    std::set<std::string> sources;
    for (std::size_t i = 0; i < count; ++i) {
        std::ranges::stable_sort(candidates[i], {}, &StepCandidate::start);
        FoundSteps found = stepsFromRanges(candidates[i], first[i]);
        if (found.steps.empty())
            found = stepsFromKernels(kernelsOfBusiestStream(ProcessIndex{static_cast<std::int32_t>(i)}));
        if (found.steps.empty())
            continue;
        sources.insert(found.source + (found.isInferred ? " (inferred)" : ""));
        keepSteps(i, std::move(found));
    }
    std::string all;
    for (const std::string& source : sources)
        all += (all.empty() ? "" : ", ") + source;
    if (!all.empty())
        trace_.environment.push_back({"steps.source", all});
}

// The ranges that are steps become rows of kind Step, and no others; a computed step becomes a row.
void RunSteps::keepSteps(std::size_t process, FoundSteps&& found)
{
    for (HostRow& row : trace_.host)
        if (row.kind == HostKind::Step && static_cast<std::size_t>(trace_.processOf(row).value) == process)
            row.kind = HostKind::Range;
    const bool areComputed =
        std::ranges::any_of(found.steps, [](const FoundStep& step) { return !step.range; });
    const std::uint32_t thread =
        areComputed ? addThreadOfSteps(ProcessIndex{static_cast<std::int32_t>(process)}) : 0;
    for (const FoundStep& step : found.steps)
        if (step.range)
            trace_.host[*step.range].kind = HostKind::Step;
        else
            trace_.host.push_back({.start = step.start,
                                   .end = step.end,
                                   .name = trace_.strings.intern("step_" + std::to_string(step.number)).value,
                                   .thread = thread,
                                   .kind = HostKind::Step});
    OfProcess& kept = processes_[process];
    for (const FoundStep& step : found.steps)
        kept.walls.addStep(step.number, {timestampAt(step.start), timestampAt(step.end)});
    kept.areOnDevice = found.isOnDevice;
    kept.steps = std::move(found.steps);
}

std::uint32_t RunSteps::addThreadOfSteps(ProcessIndex process)
{
    trace_.threads.push_back({.process = process,
                              .name = trace_.strings.intern(kComputedSteps),
                              .number = ThreadId{std::numeric_limits<std::uint32_t>::max() - 1 -
                                                 static_cast<std::uint32_t>(process.value)}});
    return static_cast<std::uint32_t>(trace_.threads.size() - 1);
}

std::vector<KernelInstant> RunSteps::kernelsOfBusiestStream(ProcessIndex process) const
{
    std::vector<std::int64_t> busy(trace_.streams.size(), 0);
    for (const DeviceRow& row : trace_.activities)
        if (row.kind == DeviceEventKind::Kernel && trace_.processOf(row) == process)
            busy[row.stream] += row.end - row.start;
    std::vector<KernelInstant> kernels;
    const auto most = std::ranges::max_element(busy);
    if (most == busy.end() || *most == 0)
        return kernels;
    const auto stream = static_cast<std::uint32_t>(most - busy.begin());
    for (const DeviceRow& row : trace_.activities)
        if (row.kind == DeviceEventKind::Kernel && row.stream == stream)
            kernels.push_back({row.name, row.start, row.end});
    std::ranges::sort(kernels, {}, &KernelInstant::start);
    return kernels;
}

std::int32_t RunSteps::at(ProcessIndex process, std::int64_t time) const
{
    const auto& steps = processes_[static_cast<std::size_t>(process.value)].steps;
    const auto next = std::ranges::upper_bound(steps, time, {}, &FoundStep::start);
    return next != steps.begin() && time < std::prev(next)->end ? std::prev(next)->number : kNoStep;
}

std::int32_t RunSteps::ofWork(ProcessIndex process, const Launch* launch, std::int64_t start) const
{
    const bool byLaunch = launch && !processes_[static_cast<std::size_t>(process.value)].areOnDevice;
    return byLaunch ? launch->step : at(process, start);
}

void RunSteps::addWork(ProcessIndex process, const DeviceEvent& work)
{
    processes_[static_cast<std::size_t>(process.value)].walls.addWork(work);
}

std::vector<Sample> RunSteps::samples() const
{
    std::vector<Sample> samples;
    std::size_t process = 0;
    for (std::size_t i = 1; i < processes_.size(); ++i) {
        const TracedProcess& other = trace_.parties.processes[i];
        const TracedProcess& best = trace_.parties.processes[process];
        if (processes_[process].steps.empty() || (other.rank && best.rank && *other.rank < *best.rank))
            process = processes_[i].steps.empty() ? process : i;
    }
    if (process >= processes_.size())
        return samples;
    const std::vector<analysis::Interval> walls = processes_[process].walls.list();
    for (std::size_t i = 0; i < walls.size(); ++i)
        samples.push_back({.step = processes_[process].steps[i].number,
                           .kind = SampleKind::Trace,
                           .phase = Phase::Step,
                           .wall = walls[i].length()});
    return samples;
}

} // namespace tilescope::exchange
