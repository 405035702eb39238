#include "core/query/compare/step_side.h"

#include "core/analysis/kernels/sequence_alignment.h"
#include "core/analysis/time/exposed_time.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/op_totals.h"
#include "core/query/compare/call_sums.h"
#include "core/query/compare/device_works.h"
#include "core/query/compare/gpu_side.h"
#include "core/query/runs/process_rank.h"
#include "core/query/steps/step_tables.h"
#include "core/query/steps/traced_steps.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::DeviceWork;
using analysis::Interval;

Interval timeOfEvent(const auto& event)
{
    return {event.start, event.end};
}

/// Adds one run without device events to a side.
class CpuRun {
public:
    CpuRun(const store::RunReader& reader, RunId run, const ProcessQuery& topology, StepSide& side)
        : reader_(reader), run_(run), topology_(topology), filter_(reader, run, topology),
          choice_(stepChoice(reader, run, topology)), side_(side)
    {
    }

    void add()
    {
        for (const StepRow& row : steps(reader_, {.run = run_, .topology = topology_}).rows) {
            if (!row.leftOut.empty())
                continue;
            const double wall = nsOf(row.partition.wall.length());
            ++side_.steps;
            side_.wall += wall;
            side_.outsideOps += wall;
            walls_.push_back(row.partition.wall);
        }
        std::ranges::sort(walls_, {}, &Interval::start);
        addOps();
        addCommunication();
    }

private:
    void addOps()
    {
        CallSums sums(reader_, side_.calls);
        eachTracedStep(reader_, run_, [&](const TracedStep& step) {
            std::vector<Op> ops;
            std::ranges::copy_if(step.ops, std::back_inserter(ops), [&](const Op& op) {
                const ProcessIndex process = filter_.topology().of(op.thread);
                return filter_.has(op.thread) &&
                       choice_.isTypical(numbersOf(filter_.topology(), process).process, step.step);
            });
            const std::vector<Nanoseconds> self = analysis::selfTimes(ops);
            for (std::size_t i = 0; i < ops.size(); ++i) {
                sums.add(ops[i].path, ops[i].name, DeviceEventKind::Kernel, self[i]);
                side_.outsideOps -= nsOf(self[i]);
                if (!busy_.empty() && ops[i].start >= busy_.back().start && ops[i].start <= busy_.back().end)
                    busy_.back().end = std::max(busy_.back().end, ops[i].end);
                else
                    busy_.push_back(timeOfEvent(ops[i]));
            }
        });
    }

    /// Collectives while no op runs.
    void addCommunication()
    {
        std::vector<Collective> records;
        for (const Collective& record : reader_.collectives(run_))
            if (!record.device && record.thread && record.peer < 0 && filter_.has(record.thread))
                records.push_back(record);
        std::ranges::sort(records, {}, &Collective::start);
        std::vector<Interval> pieces;
        std::ranges::transform(records, std::back_inserter(pieces), timeOfEvent<Collective>);
        const std::vector<Nanoseconds> exposed =
            analysis::exposedTimes(pieces, unionOf(std::move(busy_)), walls_);
        CallSums sums(reader_, side_.communication);
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (exposed[i].count() == 0)
                continue;
            sums.add(records[i].path, records[i].op, DeviceEventKind::Kernel, exposed[i]);
            side_.outsideOps -= nsOf(exposed[i]);
        }
    }

    const store::RunReader& reader_;
    RunId run_;
    const ProcessQuery& topology_;
    ProcessFilter filter_;
    StepChoice choice_;
    StepSide& side_;
    std::vector<Interval> walls_;
    std::vector<Interval> busy_; ///< while an op runs
};

void divide(StepSide& side)
{
    const auto n = static_cast<double>(side.steps);
    for (double* value : {&side.wall, &side.idle.launching, &side.idle.synchronizing, &side.idle.tracing,
                          &side.idle.unexplained, &side.compute, &side.outsideOps})
        *value /= n;
    for (CallTimes* times : {&side.calls, &side.communication, &side.copies})
        for (auto& [call, ns] : *times)
            ns /= n;
    for (auto& [module, bytes] : side.allocated)
        bytes /= n;
}

/// A kernel of one step.
struct LaunchedKernel {
    Timestamp launched{}; ///< epoch: unknown
    Timestamp start{};
    StringId name = {};
    StringId path = {};
    Nanoseconds time{0};
};

/// Joins the kernels of steps to one sequence.
class SequenceSum {
public:
    void add(std::vector<LaunchedKernel>& step)
    {
        // Streams run side by side; only launches have an order that is the same in every step.
        const bool knowsLaunches = std::ranges::all_of(
            step, [](const LaunchedKernel& kernel) { return kernel.launched != Timestamp{}; });
        std::ranges::stable_sort(step, {}, [knowsLaunches](const LaunchedKernel& kernel) {
            return std::pair(knowsLaunches ? kernel.launched : Timestamp{}, kernel.start);
        });
        const auto pairs = analysis::alignSequences(keysOf(sum_), keysOf(step));
        std::vector<PlacedKernel> joined;
        joined.reserve(std::max(sum_.size(), step.size()));
        std::size_t a = 0;
        std::size_t b = 0;
        const auto take = [&](std::size_t untilA, std::size_t untilB) {
            for (; a < untilA; ++a)
                joined.push_back(sum_[a]);
            for (; b < untilB; ++b)
                joined.push_back({step[b].name, step[b].path, nsOf(step[b].time)});
        };
        for (const analysis::AlignedPair& pair : pairs) {
            take(pair.a, pair.b);
            joined.push_back(sum_[a++]);
            joined.back().time += nsOf(step[b++].time);
        }
        take(sum_.size(), step.size());
        sum_ = std::move(joined);
    }

    std::vector<PlacedKernel> mean(std::int64_t steps) &&
    {
        for (PlacedKernel& kernel : sum_)
            kernel.time /= static_cast<double>(steps);
        return std::move(sum_);
    }

private:
    static std::vector<std::uint32_t> keysOf(const auto& kernels)
    {
        std::vector<std::uint32_t> keys;
        keys.reserve(kernels.size());
        for (const auto& kernel : kernels)
            keys.push_back(kernel.name.value);
        return keys;
    }

    std::vector<PlacedKernel> sum_;
};

/// Replaces the number of a layer: `layers.3`, `layers.3.mlp`, `Linear_3` of a class, or `3` alone.
std::string withoutNumbers(std::string_view component)
{
    const bool isClass =
        !component.empty() && std::isupper(static_cast<unsigned char>(component.front())) != 0;
    std::string text;
    for (std::size_t i = 0; i < component.size();) {
        std::size_t end = i;
        while (end < component.size() && std::isdigit(static_cast<unsigned char>(component[end])) != 0)
            ++end;
        const bool begins = i > 0 && (component[i - 1] == '.' || (isClass && component[i - 1] == '_'));
        const bool ends = end == component.size() || component[end] == '.';
        if (begins && ends && end > i) {
            text += '*';
            i = end;
        } else {
            text += component[i++];
        }
    }
    return text;
}

} // namespace

std::vector<ProcessQuery> comparedProcesses(const store::RunReader& reader, RunId run,
                                            const ProcessQuery& asked)
{
    std::vector<ProcessQuery> processes;
    if (asked.empty())
        for (const ProcessChoice& choice : processChoices(reader.topology(run)))
            processes.push_back(choice.query);
    if (processes.empty())
        processes.push_back(asked);
    return processes;
}

StepSide stepSide(const store::RunReader& reader, std::span<const RunId> runs, const ProcessQuery& topology,
                  StepScope scope)
{
    return stepSide(reader, runs, topology,
                    [&](RunId run, std::span<const ProcessQuery> processes, StepSide& side) {
                        addGpuRun(reader, run, processes, scope, side);
                    });
}

StepSide stepSide(const store::RunReader& reader, std::span<const RunId> runs, const ProcessQuery& topology,
                  const AddGpuRun& addGpu)
{
    StepSide side;
    reader.atOnce([&] {
        for (const RunId run : runs) {
            const std::vector<ProcessQuery> processes = comparedProcesses(reader, run, topology);
            if (reader.counts(run).deviceEvents > 0) {
                side.onGpu = true;
                addGpu(run, processes, side);
            } else {
                for (const ProcessQuery& process : processes)
                    CpuRun(reader, run, process, side).add();
            }
            side.process = processWords(processChoices(reader.topology(run)), topology);
        }
    });
    if (side.steps > 0)
        divide(side);
    return side;
}

std::vector<PlacedKernel> kernelSequence(const store::RunReader& reader, std::span<const RunId> runs,
                                         const ProcessQuery& topology, StepScope scope, std::int64_t steps)
{
    SequenceSum sum;
    reader.atOnce([&] {
        for (const RunId run : runs) {
            const ProcessFilter filter(reader, run, topology);
            DeviceWorks works(reader, run);
            const StepChoice choice =
                scope == StepScope::Recording ? StepChoice{} : stepChoice(reader, run, topology);
            std::map<std::pair<ProcessIndex, std::int32_t>, std::vector<LaunchedKernel>> kernels;
            reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
                const std::int32_t step = countedStep(event.step, scope);
                const ProcessIndex process = filter.topology().of(event.device, event.stream);
                if (step != kNoStep && filter.has(event) && works.of(event) == DeviceWork::Compute &&
                    choice.isTypical(numbersOf(filter.topology(), process).process, step))
                    kernels[{process, step}].push_back(
                        {event.launched, event.start, event.name, event.path, event.end - event.start});
                return true;
            });
            for (auto& [step, list] : kernels)
                sum.add(list);
        }
    });
    return std::move(sum).mean(steps);
}

std::string alignedModule(std::string_view path)
{
    path = analysis::fromStepDown(path);
    constexpr std::string_view kStep = "step";
    if (path == kStep)
        return {};
    if (path.starts_with("step/"))
        path.remove_prefix(kStep.size() + 1);
    std::string module;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view component = path.substr(begin, end - begin);
        if (!analysis::isModuleWrapper(component))
            module += (module.empty() ? "" : "/") + withoutNumbers(component);
        begin = end + 1;
    }
    return module;
}

} // namespace tilescope::query
