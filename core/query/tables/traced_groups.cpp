#include "core/query/tables/traced_groups.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/time/range_totals.h"
#include "core/analysis/work/op_totals.h"
#include "core/model/text.h"
#include "core/query/runs/selection.h"
#include "core/query/tables/traced_steps.h"
#include "core/query/timeline/hue.h"

#include <map>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::GroupTimes;

/// Adds up times by key, step after step.
class GroupSums {
public:
    void beginStep() { ++steps_; }

    void add(std::string_view key, Nanoseconds time, std::int64_t instances)
    {
        auto group = groups_.find(key);
        if (group == groups_.end()) {
            group = groups_.emplace(key, GroupTimes{.key = std::string(key)}).first;
            group->second.runs.emplace_back();
        }
        std::vector<double>& times = group->second.runs.front();
        times.resize(steps_); // steps before this one may not have had it
        times.back() += static_cast<double>(time.count());
        group->second.instancesPerStep += static_cast<double>(instances);
    }

    std::vector<GroupTimes> take()
    {
        std::vector<GroupTimes> list;
        for (auto& [key, group] : groups_) {
            group.runs.front().resize(steps_);
            group.instancesPerStep /= static_cast<double>(steps_);
            list.push_back(std::move(group));
        }
        return list;
    }

private:
    std::size_t steps_ = 0;
    std::map<std::string, GroupTimes, std::less<>> groups_;
};

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
    RunSums(const store::RunReader& reader, RunId run, const std::optional<TimeSpan>& span) : reader_(reader)
    {
        if (!span) {
            steps_ = eachTracedStep(reader, run, [this](const TracedStep& step) { add(step); });
            return;
        }
        const TracedStep part = eventsWithin(reader, run, *span);
        steps_ = part.ops.empty() && part.device.empty() && part.ranges.empty() ? 0 : 1;
        if (steps_ > 0)
            add(part);
    }

    std::size_t steps() const { return steps_; }

    GroupSums families;
    GroupSums kernels;
    GroupSums ops;
    GroupSums opFamilies;
    GroupSums ranges;

private:
    void add(const TracedStep& step)
    {
        for (GroupSums* sums : {&families, &kernels, &ops, &opFamilies, &ranges})
            sums->beginStep();
        StepSums ofKernels;
        for (const DeviceEvent& event : step.device) {
            ofKernels.add(event.name, event.end - event.start);
            families_.try_emplace(event.name, event.kind);
        }
        ofKernels.into(kernels, [this](StringId name) { return reader_.text(name); });
        ofKernels.into(families, [this](StringId name) { return familyOf(name); });
        StepSums ofOps;
        const std::vector<Nanoseconds> self = analysis::selfTimes(step.ops);
        for (std::size_t i = 0; i < step.ops.size(); ++i)
            ofOps.add(step.ops[i].name, self[i]);
        ofOps.into(ops, [this](StringId name) { return reader_.text(name); });
        ofOps.into(opFamilies, [this](StringId name) { return hueWord(hueOfOp(reader_.text(name))); });
        for (const analysis::RangeTotal& total :
             analysis::rangeTotals(step.ranges, step.ops, step.device, textsOf(reader_)))
            ranges.add(total.path, total.gpu ? *total.gpu : total.wall.value_or(Nanoseconds{0}),
                       total.instances);
    }

    std::string_view familyOf(StringId name)
    {
        Kernel& kernel = families_.at(name);
        if (kernel.family.empty())
            kernel.family =
                wordOf(analysis::KernelFamilies::standard().describe(reader_.text(name), kernel.kind).family);
        return kernel.family;
    }

    struct Kernel {
        explicit Kernel(DeviceEventKind ofKind) : kind(ofKind) {}
        DeviceEventKind kind;
        std::string_view family = {};
    };

    const store::RunReader& reader_;
    std::size_t steps_ = 0;
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

TracedGroups tracedGroups(const store::RunReader& reader, std::span<const RunId> runs,
                          const std::optional<TimeSpan>& span)
{
    SideGroups families;
    SideGroups opFamilies;
    SideGroups kernels;
    SideGroups ops;
    SideGroups ranges;
    TracedGroups groups;
    for (const RunId run : runs) {
        RunSums sums(reader, run, span);
        const std::size_t steps = sums.steps();
        if (steps == 0)
            continue;
        groups.hasSteps = true;
        ranges.add(sums.ranges.take(), steps);
        if (reader.counts(run).deviceEvents == 0) {
            opFamilies.add(sums.opFamilies.take(), steps);
            ops.add(sums.ops.take(), steps);
            continue;
        }
        groups.onGpu = true;
        families.add(sums.families.take(), steps);
        kernels.add(sums.kernels.take(), steps);
    }
    groups.families = groups.onGpu ? families.take() : opFamilies.take();
    groups.kernels = kernels.take();
    groups.ops = ops.take();
    groups.ranges = ranges.take();
    return groups;
}

} // namespace tilescope::query
