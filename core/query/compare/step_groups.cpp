#include "core/query/compare/step_groups.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/range_totals.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/selection.h"
#include "core/query/steps/traced_steps.h"
#include "core/store/tracks/call_totals.h"

#include <algorithm>
#include <utility>

namespace tilescope::query {

StepGroups::Step& StepGroups::stepAt(const StepOf& number)
{
    if (!last_ || last_->number.process != number.process)
        last_ = &ofProcesses_[number.process];
    if (last_->step && number == last_->number)
        return *last_->step;
    last_->number = number;
    last_->step = &steps_[number];
    last_->sums = nullptr;
    last_->kernelPlaces.use(last_->step->kernels,
                            [this](const StepKernel& sum) { return kernels_.at(sum.name).number; });
    return *last_->step;
}

/// The sums of the current step on this device; none: of the host.
void StepGroups::useDevice(DeviceIndex device)
{
    if (last_->sums && device == last_->device)
        return;
    last_->device = device;
    last_->sums = &last_->step->paths[device];
    last_->pathPlaces.use(*last_->sums, [](const PathSum& sum) { return sum.path; });
}

StepGroups::PathSum& StepGroups::sumOf(std::uint32_t path)
{
    std::size_t place = last_->pathPlaces.of(path);
    if (place == Places::kUnknown) {
        place = last_->sums->size();
        last_->sums->push_back({.path = path});
        last_->pathPlaces.note(path, place);
    }
    return (*last_->sums)[place];
}

/// The number of a path below a step; kNone if it is not.
std::uint32_t StepGroups::pathOf(StringId id)
{
    if (!id)
        return kNone;
    const auto [known, isNew] = pathsById_.try_emplace(id, kNone);
    if (isNew) {
        const std::string_view path = analysis::fromStepDown(reader_.text(id));
        if (path == "step" || path.starts_with("step/"))
            known->second = pathNamed(path);
    }
    return known->second;
}

std::uint32_t StepGroups::pathNamed(std::string_view text)
{
    if (const auto found = pathsByText_.find(text); found != pathsByText_.end())
        return found->second;
    const std::size_t slash = text.rfind('/');
    const std::uint32_t parent = slash == std::string_view::npos ? kNone : pathNamed(text.substr(0, slash));
    const auto number = static_cast<std::uint32_t>(paths_.size());
    paths_.push_back({.text = std::string(text), .parent = parent});
    pathsByText_.emplace(text, number);
    return number;
}

void StepGroups::add(const Range& range)
{
    if (range.step == kNoStep || !filter_.has(range.thread))
        return;
    Step& step = stepAt({filter_.topology().of(range.thread), range.step});
    step.hasRanges = true;
    step.cover(range.start, range.end);
    const std::uint32_t path = pathOf(range.path);
    if (path == kNone)
        return;
    useDevice({});
    ++sumOf(path).ranges;
}

void StepGroups::add(const Op& op)
{
    if (op.step == kNoStep || !filter_.has(op.thread))
        return;
    Step& step = stepAt({filter_.topology().of(op.thread), op.step});
    step.cover(op.start, op.end);
    const std::uint32_t path = pathOf(op.path);
    if (path == kNone)
        return;
    useDevice({});
    sumOf(path).hasWork = true;
}

bool StepGroups::addStoredOps()
{
    const std::optional<store::CallTotals> totals = reader_.callTotals(run_);
    if (!totals || !std::ranges::all_of(totals->ops, &store::OpCallTotal::knowsSteps))
        return false;
    const bool hasSeveral = filter_.topology().hasSeveral();
    const ProcessIndex asked = hasSeveral ? filter_.process() : ProcessIndex{};
    for (const store::OpCallTotal& total : totals->ops) {
        const std::uint32_t path = pathOf(total.path);
        if (path == kNone || (asked && total.process != asked))
            continue;
        total.steps.each([&](std::int32_t step) {
            stepAt({total.process, step});
            useDevice({});
            sumOf(path).hasWork = true;
        });
    }
    return true;
}

void StepGroups::add(const DeviceEvent& event)
{
    if (event.step == kNoStep || !filter_.has(event))
        return;
    Step& step = stepAt({filter_.topology().of(event.device, event.stream), event.step});
    step.cover(event.start, event.end);
    step.hasDevice = true;
    step.isInOrder = step.isInOrder && event.start >= step.lastStart;
    step.lastStart = event.start;
    addKernel(event);
    std::uint32_t path = pathOf(event.path);
    if (path == kNone)
        return;
    useDevice(event.device);
    for (; path != kNone; path = paths_[path].parent) {
        PathSum& sum = sumOf(path);
        sum.hasWork = true;
        const Timestamp from = std::max(event.start, sum.until);
        if (event.end > from) {
            sum.busy += event.end - from;
            sum.until = event.end;
        }
    }
}

void StepGroups::addKernel(const DeviceEvent& event)
{
    const auto [kernel, isNew] = kernels_.try_emplace(event.name);
    if (isNew)
        kernel->second = {.number = static_cast<std::uint32_t>(kernels_.size() - 1), .kind = event.kind};
    std::vector<StepKernel>& kernels = last_->step->kernels;
    std::size_t place = last_->kernelPlaces.of(kernel->second.number);
    if (place == Places::kUnknown) {
        place = kernels.size();
        kernels.push_back({.name = event.name});
        last_->kernelPlaces.note(kernel->second.number, place);
    }
    StepKernel& sum = kernels[place];
    sum.time += event.end - event.start;
    ++sum.instances;
}

std::string_view StepGroups::familyOf(StringId name)
{
    Kernel& kernel = kernels_.at(name);
    if (kernel.family.empty())
        kernel.family = wordOf(runKernels_.familyOf(name, kernel.kind));
    return kernel.family;
}

RunGroups StepGroups::take()
{
    GroupSums families;
    GroupSums kernels;
    GroupSums ranges;
    std::size_t count = 0;
    for (const auto& [number, step] : steps_) {
        if (!step.hasRanges ||
            !choice_.isTypical(numbersOf(filter_.topology(), number.process).process, number.number))
            continue;
        ++count;
        for (GroupSums* sums : {&families, &kernels, &ranges})
            sums->beginStep();
        for (const StepKernel& sum : step.kernels) {
            kernels.add(reader_.text(sum.name), sum.time, sum.instances);
            families.add(familyOf(sum.name), sum.time, sum.instances);
        }
        addRanges(number, step, ranges);
    }
    return {.steps = count,
            .onGpu = true,
            .families = families.take(),
            .kernels = kernels.take(),
            .ranges = ranges.take(),
            .byLaunch = runKernels_.takeByLaunch()};
}

std::int64_t StepGroups::instancesOf(std::uint32_t path) const
{
    const Total& total = totals_[path];
    if (total.ranges > 0)
        return total.ranges;
    const auto twin = pathsByText_.find(analysis::pathInForward(paths_[path].text));
    if (twin != pathsByText_.end() && totals_[twin->second].ranges > 0)
        return totals_[twin->second].ranges;
    return total.hasWork ? 1 : 0;
}

void StepGroups::addRanges(const StepOf& number, const Step& step, GroupSums& ranges)
{
    if (!step.isInOrder || !step.hasDevice) {
        const store::EventWindow window{.run = run_, .from = step.from, .to = step.to, .step = number.number};
        const TracedStep events = stepOf(filter_.topology(), number.process,
                                         {.step = number.number,
                                          .ranges = reader_.ranges(window),
                                          .ops = reader_.ops(window),
                                          .device = reader_.deviceEvents(window)});
        for (const analysis::RangeTotal& total :
             analysis::rangeTotals(events.ranges, events.ops, events.device, textsOf(reader_)))
            ranges.add(total.path, total.gpu ? *total.gpu : total.wall.value_or(Nanoseconds{0}),
                       total.instances);
        return;
    }
    totals_.resize(paths_.size());
    std::vector<std::uint32_t> known;
    const auto totalOf = [&](std::uint32_t path) -> Total& {
        if (!totals_[path].isKnown)
            known.push_back(path);
        totals_[path].isKnown = true;
        return totals_[path];
    };
    for (const auto& [device, sums] : step.paths)
        for (const PathSum& sum : sums) {
            Total& total = totalOf(sum.path);
            total.ranges += sum.ranges;
            total.busy += sum.busy;
            // Every ancestor of a path with work is present and includes that work.
            for (std::uint32_t path = sum.path; path != kNone; path = paths_[path].parent) {
                Total& around = totalOf(path);
                around.hasWork = around.hasWork || sum.hasWork;
            }
        }
    for (const std::uint32_t path : known)
        ranges.add(paths_[path].text, totals_[path].busy, instancesOf(path));
    for (const std::uint32_t path : known)
        totals_[path] = {};
}

} // namespace tilescope::query
