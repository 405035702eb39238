#include "core/analysis/work/timed_work.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/launched_kernels.h"
#include "core/analysis/work/op_families.h"
#include "core/analysis/work/op_totals.h"
#include "core/analysis/work/op_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

/// Caches the families of ops by name.
class OpFamilies {
public:
    explicit OpFamilies(const TextOf& textOf) : textOf_(textOf) {}
    KernelFamily operator()(const Op& op)
    {
        const auto [entry, isNew] = known_.try_emplace(op.name);
        if (isNew)
            entry->second = familyOfOp(textOf_(op.name));
        return entry->second;
    }

private:
    const TextOf& textOf_;
    std::unordered_map<StringId, KernelFamily> known_;
};

/// Kernel time of one counted op, by family.
struct KernelTime {
    Nanoseconds total{0};
    std::array<Nanoseconds, kKernelFamilies> byFamily{};
    const DeviceEvent* longest = nullptr; ///< the kernel that does the op's work

    void add(const DeviceEvent& event, KernelFamily family)
    {
        total += event.end - event.start;
        byFamily[static_cast<std::size_t>(family)] += event.end - event.start;
        if (!longest || event.end - event.start > longest->end - longest->start)
            longest = &event;
    }

    void add(const KernelTime& other)
    {
        total += other.total;
        for (std::size_t i = 0; i < byFamily.size(); ++i)
            byFamily[i] += other.byFamily[i];
    }

    KernelFamily largest() const
    {
        return static_cast<KernelFamily>(std::max_element(byFamily.begin(), byFamily.end()) -
                                         byFamily.begin());
    }
};

/// Accumulates items with equal place, op and family.
class Gathered {
public:
    void add(const TimedWork& item)
    {
        const Key key{item.path, item.op,      item.shapes,   item.family,
                      item.step, item.counted, item.inferred, item.replayed};
        const auto [entry, isNew] = items_.try_emplace(key, item);
        if (isNew)
            return;
        entry->second.firstOp = std::min(entry->second.firstOp, item.firstOp);
        entry->second.instances += item.instances;
        entry->second.time += item.time;
        entry->second.work += item.work;
    }

    std::vector<TimedWork> take()
    {
        std::vector<TimedWork> list;
        list.reserve(items_.size());
        for (auto& [key, item] : items_)
            list.push_back(item);
        return list;
    }

private:
    using Key = std::tuple<std::string_view, std::string_view, std::string_view, KernelFamily, std::int32_t,
                           bool, bool, bool>;
    std::map<Key, TimedWork> items_;
};

/// Adds the ops of a run without a GPU. An op that counts has its full time; other ops have their self time.
void addOpsOfAProcessor(Gathered& gathered, std::span<const Op> ops, const OpTree& tree, const TextOf& textOf,
                        WorkScope scope)
{
    const std::vector<Nanoseconds> self = selfTimes(ops);
    OpFamilies families(textOf);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        const bool counts = tree.counts(i);
        if ((op.step == kNoStep && scope == WorkScope::TracedSteps) || (!counts && tree.countingAt(i)))
            continue;
        gathered.add({.path = fromStepDown(textOf(op.path)),
                      .op = textOf(op.name),
                      .shapes = op.shapes ? textOf(op.shapes) : std::string_view{},
                      .firstOp = op.id,
                      .family = families(op),
                      .step = op.step,
                      .instances = 1,
                      .time = counts ? op.end - op.start : self[i],
                      .counted = counts,
                      .work = counts ? tree.work(i) : Work{}});
    }
}

/// By op and step. If only kernels are traced, the ops of one step stand for the kernels of all steps.
using KernelTimes = std::map<std::pair<std::size_t, std::int32_t>, KernelTime>;

/// The families of counted ops: one family for all ops with the same name, arguments and place.
class CountedFamilies {
public:
    CountedFamilies(const KernelTimes& times, std::span<const Op> ops)
    {
        for (const auto& [place, time] : times)
            known_[keyOf(ops[place.first])].add(time);
    }
    KernelFamily of(const Op& op) const { return known_.at(keyOf(op)).largest(); }

private:
    using Key = std::tuple<StringId, StringId, StringId>;
    static Key keyOf(const Op& op) { return {op.name, op.shapes, op.path}; }

    std::map<Key, KernelTime> known_;
};

/// Distinguishes kernels of CUDA graphs from others: one call launches all kernels of a graph.
class Replays {
public:
    explicit Replays(const std::vector<const DeviceEvent*>& events)
    {
        for (const DeviceEvent* const event : events)
            if (event->launched != Timestamp{} && event->kind == DeviceEventKind::Kernel)
                ++kernels_[callOf(*event)];
    }
    bool has(const DeviceEvent& event) const
    {
        const auto call = kernels_.find(callOf(event));
        return event.graphNode != 0 || (call != kernels_.end() && call->second > 1);
    }

private:
    using Call = std::tuple<Timestamp, ThreadId, CorrelationId>;
    static Call callOf(const DeviceEvent& event)
    {
        return {event.launched, event.launchThread, event.correlation};
    }

    std::map<Call, std::size_t> kernels_;
};

/// Classifies device events by what is known about their ops, and adds them with their work.
class DeviceWorkOfOps {
public:
    DeviceWorkOfOps(std::span<const Op> ops, std::span<const DeviceEvent> device, const AlikeCalls& alike,
                    const OpTree& tree, const TextOf& textOf, const FamilyOf& familyOf, WorkScope scope)
        : ops_(ops), device_(device), alike_(alike), tree_(tree), textOf_(textOf), familyOf_(familyOf)
    {
        for (const DeviceEvent& event : device)
            if (event.step != kNoStep || scope == WorkScope::Recording)
                sort(event);
    }

    /// Whether sums determine the result: a kernel without a launch needs the launch configurations of
    /// others.
    bool isDetermined() const
    {
        return (unlaunched_.empty() || launched_.empty()) &&
               std::ranges::all_of(
                   kernels_, [this](const auto& entry) { return tree_.isDetermined(entry.first.first); });
    }

    void addTo(Gathered& gathered) const
    {
        addUncounted(gathered);
        const CountedFamilies families(kernels_, ops_);
        for (const auto& [place, time] : kernels_) {
            const Op& op = ops_[place.first];
            gathered.add({.path = fromStepDown(textOf_(op.path)),
                          .op = textOf_(op.name),
                          .shapes = textOf_(op.shapes),
                          .firstOp = tree_.firstOf(place.first),
                          .family = families.of(op),
                          .step = place.second,
                          .instances = tree_.launchingOf(place.first),
                          .time = time.total,
                          .counted = true,
                          .work = tree_.work(place.first)});
        }
        addUnlaunched(gathered);
    }

private:
    void sort(const DeviceEvent& event)
    {
        const std::optional<std::size_t> launcher = event.op ? tree_.find(event.op) : std::nullopt;
        if (const auto counting = tree_.countingAt(launcher)) {
            kernels_[{*counting, event.step}].add(event, familyOf_(event));
            launched_.emplace_back(&event, *counting);
        } else if (!launcher && event.launched == Timestamp{}) {
            unlaunched_.push_back(&event);
        } else {
            uncounted_.push_back(&event);
        }
    }

    std::int64_t instancesOf(const DeviceEvent* event) const
    {
        return alike_.activities.empty()
                   ? 1
                   : alike_.activities[static_cast<std::size_t>(event - device_.data())];
    }

    /// Adds the kernels whose op is unknown or has no work.
    void addUncounted(Gathered& gathered) const
    {
        const Replays replays(uncounted_);
        for (const DeviceEvent* const event : uncounted_) {
            const auto launcher = event->op ? tree_.find(event->op) : std::nullopt;
            const Op op = launcher ? ops_[*launcher] : Op{};
            gathered.add({.path = fromStepDown(textOf_(event->path)),
                          .op = launcher ? textOf_(op.name) : std::string_view{},
                          .shapes = op.shapes ? textOf_(op.shapes) : std::string_view{},
                          .firstOp = launcher ? tree_.firstOf(*launcher) : OpId{},
                          .family = familyOf_(*event),
                          .step = event->step,
                          .instances = instancesOf(event),
                          .time = event->end - event->start,
                          .replayed = replays.has(*event)});
        }
    }

    /// Adds the kernels whose launch was not recorded.
    void addUnlaunched(Gathered& gathered) const
    {
        if (unlaunched_.empty())
            return;
        LaunchedKernels byLaunch(launched_.empty() ? std::span<const DeviceEvent>{} : device_);
        if (!launched_.empty())
            for (const auto& [event, op] : launched_)
                byLaunch.add(*event, op, kernels_.at({op, event->step}).longest == event, ops_);
        for (const DeviceEvent* const event : unlaunched_) {
            TimedWork item{.path = fromStepDown(textOf_(event->path)),
                           .family = familyOf_(*event),
                           .step = event->step,
                           .instances = instancesOf(event),
                           .time = event->end - event->start};
            if (const LaunchedKernels::Launcher* const launcher =
                    launched_.empty() ? nullptr : byLaunch.find(*event)) {
                item.op = textOf_(ops_[launcher->op].name);
                item.shapes = textOf_(ops_[launcher->op].shapes);
                item.firstOp = ops_[launcher->op].id;
                item.instances = launcher->doesWork ? 1 : 0;
                item.counted = item.inferred = true;
                item.work = launcher->doesWork ? tree_.work(launcher->op) : Work{};
            }
            gathered.add(item);
        }
    }

    const std::span<const Op> ops_;
    const std::span<const DeviceEvent> device_;
    const AlikeCalls alike_;
    const OpTree& tree_;
    const TextOf& textOf_;
    const FamilyOf& familyOf_;
    KernelTimes kernels_;
    std::vector<const DeviceEvent*> unlaunched_;
    std::vector<const DeviceEvent*> uncounted_;
    std::vector<std::pair<const DeviceEvent*, std::size_t>> launched_; ///< each with the op that counts
};

} // namespace

std::vector<TimedWork> timedWorkOfOps(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context, WorkScope scope)
{
    const OpTree tree(ops, textOf, context);
    Gathered gathered;
    DeviceWorkOfOps(ops, device, {}, tree, textOf, familyOf, scope).addTo(gathered);
    if (device.empty())
        addOpsOfAProcessor(gathered, ops, tree, textOf, scope);
    return gathered.take();
}

std::optional<std::vector<TimedWork>>
timedWorkOfSums(std::span<const Op> ops, std::span<const DeviceEvent> device, const AlikeCalls& alike,
                const TextOf& textOf, const FamilyOf& familyOf, const WorkContext& context, WorkScope scope)
{
    const OpTree tree(ops, textOf, context, alike);
    const DeviceWorkOfOps work(ops, device, alike, tree, textOf, familyOf, scope);
    if (!work.isDetermined())
        return {};
    Gathered gathered;
    work.addTo(gathered);
    return gathered.take();
}

std::vector<TimedWork> timedWorkOfSpec(std::span<const SpecWork> spec, std::int64_t steps,
                                       std::span<const Op> ops, std::span<const DeviceEvent> device,
                                       const TextOf& textOf, const FamilyOf& familyOf, WorkScope scope)
{
    const auto isLeftOut = [scope](std::int32_t step) {
        return step == kNoStep && scope == WorkScope::TracedSteps;
    };
    const auto isKnown = [](KernelFamily family) {
        return family == KernelFamily::Matmul || family == KernelFamily::Attention;
    };
    Gathered gathered;
    for (const SpecWork& item : spec)
        gathered.add({.path = item.path,
                      .family = item.family,
                      .counted = true,
                      .work = {item.work.flops * steps, {item.work.bytes.count * steps}}});
    for (const DeviceEvent& event : device)
        if (!isLeftOut(event.step))
            gathered.add({.path = fromStepDown(textOf(event.path)),
                          .family = familyOf(event),
                          .step = event.step,
                          .instances = 1,
                          .time = event.end - event.start,
                          .counted = isKnown(familyOf(event))});
    if (!device.empty())
        return gathered.take();
    const std::vector<Nanoseconds> self = selfTimes(ops);
    OpFamilies families(textOf);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (isLeftOut(ops[i].step))
            continue;
        const std::string_view name = textOf(ops[i].name);
        const KernelFamily family = families(ops[i]);
        gathered.add({.path = fromStepDown(textOf(ops[i].path)),
                      .op = name,
                      .family = family,
                      .step = ops[i].step,
                      .instances = 1,
                      .time = self[i],
                      .counted = isKnown(family)});
    }
    return gathered.take();
}

std::vector<KernelWork> workOfKernels(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context, WorkScope scope)
{
    struct Kind {
        KernelWork work;
        bool expected = false; // whether the kernel is of the family that the op's rule names

        bool operator<(const Kind& other) const
        {
            return std::pair(expected, work.time) < std::pair(other.expected, other.work.time);
        }
    };
    const OpTree tree(ops, textOf, context);
    // If only kernels are traced, the ops of one step stand for the kernels of all steps. An op launches few
    // kinds of kernels, so searching a list is faster than a table.
    std::map<std::pair<std::size_t, std::int32_t>, std::vector<Kind>> byOp;
    for (const DeviceEvent& event : device) {
        if ((event.step == kNoStep && scope == WorkScope::TracedSteps) || !event.op)
            continue;
        const auto counting = tree.countingAt(tree.find(event.op));
        if (!counting)
            continue;
        std::vector<Kind>& kinds = byOp[{*counting, event.step}];
        auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&event](const Kind& known) { return known.work.kernel == event.name; });
        if (kind == kinds.end())
            kind = kinds.insert(kinds.end(), {{.kernel = event.name, .path = event.path, .step = event.step},
                                              familyOf(event) == tree.family(*counting)});
        ++kind->work.instances;
        kind->work.time += event.end - event.start;
    }
    std::vector<KernelWork> list;
    list.reserve(byOp.size());
    for (const auto& [place, kinds] : byOp) {
        list.push_back(std::max_element(kinds.begin(), kinds.end())->work);
        list.back().work = tree.work(place.first);
    }
    return list;
}

std::vector<WorkTotal> workTotals(std::span<const TimedWork> items, const WorkGroupsOf& groupsOf)
{
    std::map<std::string, WorkTotal, std::less<>> totals;
    for (const TimedWork& item : items)
        groupsOf(item, [&](std::string_view key) {
            auto total = totals.find(key);
            if (total == totals.end())
                total = totals.emplace(key, WorkTotal{.key = std::string(key)}).first;
            total->second.firstOp = std::min(total->second.firstOp, item.firstOp);
            total->second.instances += item.instances;
            total->second.time += item.time;
            if (item.counted) {
                total->second.countedTime += item.time;
                total->second.inferredTime += item.inferred ? item.time : Nanoseconds(0);
                total->second.work += item.work;
            } else if (item.replayed) {
                total->second.replayedTime += item.time;
            }
        });
    std::vector<WorkTotal> list;
    for (auto& [key, total] : totals)
        list.push_back(std::move(total));
    std::stable_sort(list.begin(), list.end(),
                     [](const WorkTotal& a, const WorkTotal& b) { return a.time > b.time; });
    return list;
}

} // namespace tilescope::analysis
