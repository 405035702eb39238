#include "core/query/compare/traced_groups.h"

#include "core/analysis/time/range_totals.h"
#include "core/analysis/work/op_totals.h"
#include "core/model/text.h"
#include "core/query/compare/step_groups.h"
#include "core/query/kernels/group_sums.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/selection.h"
#include "core/query/steps/traced_steps.h"
#include "core/query/steps/typical_steps.h"
#include "core/query/timeline/hue.h"

#include <map>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::GroupTimes;

/// Time and instances of one step by the number of a text, which is quicker to find than the text.
class StepSums {
public:
    void add(StringId key, Nanoseconds time)
    {
        auto& [sum, instances] = sums_[key];
        sum += time;
        ++instances;
    }

    template <class KeyOf> void into(GroupSums& groups, KeyOf&& keyOf) const
    {
        for (const auto& [key, sum] : sums_)
            groups.add(keyOf(key), sum.first, sum.second);
    }

private:
    std::unordered_map<StringId, std::pair<Nanoseconds, std::int64_t>> sums_;
};

/// The totals of the traced steps of one run, of which only one is in memory at a time; or of a span of it.
class RunSums {
public:
    RunSums(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
            const std::optional<TimeSpan>& span)
        : reader_(reader), kernels_(reader, run), onGpu_(reader.counts(run).deviceEvents > 0),
          filter_(reader, run, topology)
    {
        if (span)
            addOfEach(eventsWithin(reader, run, *span));
        else {
            choice_ = stepChoice(reader, run, topology);
            eachTracedStep(reader, run, [this](const TracedStep& step) { addOfEach(step); });
        }
    }

    RunGroups take()
    {
        return {.steps = steps_,
                .onGpu = onGpu_,
                .families = onGpu_ ? familySums_.take() : opFamilySums_.take(),
                .kernels = kernelSums_.take(),
                .ops = opSums_.take(),
                .ranges = rangeSums_.take(),
                .byLaunch = kernels_.takeByLaunch()};
    }

private:
    /// Adds what each process did in a step as a step of its own.
    void addOfEach(const TracedStep& step)
    {
        std::set<ProcessIndex> processes;
        const auto note = [&](const auto& events) {
            for (const auto& event : events)
                if (filter_.has(event.thread))
                    processes.insert(filter_.topology().of(event.thread));
        };
        note(step.ranges);
        note(step.ops);
        for (const DeviceEvent& event : step.device)
            if (filter_.has(event))
                processes.insert(filter_.topology().of(event.device, event.stream));
        for (const ProcessIndex process : processes)
            if (choice_.isTypical(numbersOf(filter_.topology(), process).process, step.step))
                add(stepOf(filter_.topology(), process, step));
    }

    void add(const TracedStep& step)
    {
        ++steps_;
        for (GroupSums* sums : {&familySums_, &kernelSums_, &opSums_, &opFamilySums_, &rangeSums_})
            sums->beginStep();
        StepSums ofKernels;
        for (const DeviceEvent& event : step.device) {
            ofKernels.add(event.name, event.end - event.start);
            families_.try_emplace(event.name, event.kind);
        }
        ofKernels.into(kernelSums_, [this](StringId name) { return reader_.text(name); });
        ofKernels.into(familySums_, [this](StringId name) { return familyOf(name); });
        if (!onGpu_)
            addOps(step.ops);
        for (const analysis::RangeTotal& total :
             analysis::rangeTotals(step.ranges, step.ops, step.device, textsOf(reader_)))
            rangeSums_.add(total.path, total.gpu ? *total.gpu : total.wall.value_or(Nanoseconds{0}),
                           total.instances);
    }

    void addOps(std::span<const Op> list)
    {
        StepSums sums;
        const std::vector<Nanoseconds> self = analysis::selfTimes(list);
        for (std::size_t i = 0; i < list.size(); ++i)
            sums.add(list[i].name, self[i]);
        sums.into(opSums_, [this](StringId name) { return reader_.text(name); });
        sums.into(opFamilySums_, [this](StringId name) { return hueWord(hueOfOp(reader_.text(name))); });
    }

    std::string_view familyOf(StringId name)
    {
        Kernel& kernel = families_.at(name);
        if (kernel.family.empty())
            kernel.family = wordOf(kernels_.familyOf(name, kernel.kind));
        return kernel.family;
    }

    struct Kernel {
        explicit Kernel(DeviceEventKind ofKind) : kind(ofKind) {}
        DeviceEventKind kind;
        std::string_view family = {};
    };

    const store::RunReader& reader_;
    RunKernels kernels_;
    const bool onGpu_;
    const ProcessFilter filter_;
    StepChoice choice_;
    std::size_t steps_ = 0;
    GroupSums familySums_;
    GroupSums kernelSums_;
    GroupSums opSums_;
    GroupSums opFamilySums_;
    GroupSums rangeSums_;
    std::unordered_map<StringId, Kernel> families_; ///< by the kernel's name
};

/// The groups of one side, run after run.
class SideGroups {
public:
    void add(std::vector<GroupTimes> ofRun, std::size_t steps)
    {
        for (GroupTimes& group : ofRun) {
            const auto [known, isNew] = groups_.try_emplace(group.key, GroupTimes{.key = group.key});
            GroupTimes& side = known->second;
            // Runs before this one did not have it.
            for (std::size_t run = side.runs.size(); run < steps_.size(); ++run)
                side.runs.emplace_back(steps_[run]);
            side.runs.push_back(std::move(group.runs.front()));
            side.instancesPerStep += group.instancesPerStep;
        }
        steps_.push_back(steps);
    }

    std::vector<GroupTimes> take()
    {
        std::vector<GroupTimes> list;
        for (auto& [key, group] : groups_) {
            for (std::size_t run = group.runs.size(); run < steps_.size(); ++run)
                group.runs.emplace_back(steps_[run]);
            group.instancesPerStep /= static_cast<double>(steps_.size());
            list.push_back(std::move(group));
        }
        return list;
    }

private:
    std::map<std::string, GroupTimes, std::less<>> groups_;
    std::vector<std::size_t> steps_; ///< of each run
};

} // namespace

RunGroups runGroups(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
                    const std::optional<TimeSpan>& span)
{
    if (span || reader.counts(run).deviceEvents == 0)
        return RunSums(reader, run, topology, span).take();
    StepGroups groups(reader, run, topology);
    const auto add = [&groups](const auto& event) {
        groups.add(event);
        return true;
    };
    reader.eachRange({.run = run}, add);
    if (!groups.addStoredOps())
        reader.eachOp({.run = run}, add);
    reader.eachDeviceEvent({.run = run}, add);
    return groups.take();
}

TracedGroups joined(std::span<RunGroups> runs)
{
    SideGroups families;
    SideGroups opFamilies;
    SideGroups kernels;
    SideGroups ops;
    SideGroups ranges;
    TracedGroups groups;
    for (RunGroups& run : runs) {
        if (run.steps == 0)
            continue;
        groups.hasSteps = true;
        ranges.add(std::move(run.ranges), run.steps);
        if (!run.onGpu) {
            opFamilies.add(std::move(run.families), run.steps);
            ops.add(std::move(run.ops), run.steps);
            continue;
        }
        groups.onGpu = true;
        groups.byLaunch.merge(run.byLaunch);
        families.add(std::move(run.families), run.steps);
        kernels.add(std::move(run.kernels), run.steps);
    }
    groups.families = groups.onGpu ? families.take() : opFamilies.take();
    groups.kernels = kernels.take();
    groups.ops = ops.take();
    groups.ranges = ranges.take();
    return groups;
}

TracedGroups tracedGroups(const store::RunReader& reader, std::span<const RunId> runs,
                          const ProcessQuery& topology, const std::optional<TimeSpan>& span)
{
    std::vector<RunGroups> groups;
    groups.reserve(runs.size());
    for (const RunId run : runs)
        groups.push_back(runGroups(reader, run, topology, span));
    return joined(groups);
}

} // namespace tilescope::query
