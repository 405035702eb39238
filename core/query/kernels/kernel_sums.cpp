#include "core/query/kernels/kernel_sums.h"

#include "core/store/tracks/call_totals.h"

#include <algorithm>

namespace tilescope::query {

namespace {

/// Names of a run's ops, four bytes an op: they are numbered nearly without gaps.
class OpNames {
public:
    void read(const store::RunReader& reader, RunId run)
    {
        dense_.resize(static_cast<std::size_t>(reader.counts(run).ops) * 2);
        reader.eachOp({.run = run}, [this](const Op& op) {
            if (op.id && op.id.value < dense_.size())
                dense_[op.id.value] = op.name;
            else
                others_[op.id] = op.name;
            return true;
        });
    }
    StringId of(OpId op) const
    {
        if (op && op.value < dense_.size())
            return dense_[op.value];
        const auto found = others_.find(op);
        return found == others_.end() ? StringId{} : found->second;
    }

private:
    std::vector<StringId> dense_;
    std::unordered_map<OpId, StringId> others_;
};

/// By op or with the steps.
std::optional<SummedKernels> sumsOfCalls(const store::RunReader& reader, const KernelSelection& selection)
{
    const std::optional<store::CallTotals> totals = reader.callTotals(selection.run);
    if (!totals ||
        (selection.countSteps && !std::ranges::all_of(totals->activities, &store::ActivityTotal::knowsSteps)))
        return {};
    const bool wholeRecording = reader.run(selection.run)->coversRecording();
    SummedKernels summed{.events = reader.counts(selection.run).deviceEvents};
    KernelSums sums;
    for (const store::ActivityTotal& total : totals->activities)
        if (total.isTraced || wholeRecording)
            sums.add(total, selection.byOp && total.op != store::kNoOpCall ? totals->ops[total.op].name
                                                                           : StringId{});
        else
            summed.outsideSteps += total.instances;
    summed.sums = std::move(sums).list();
    return summed;
}

std::optional<SummedKernels> storedSums(const store::RunReader& reader, const KernelSelection& selection)
{
    if (selection.step || selection.span || !selection.topology.empty())
        return {};
    // The totals by kernel are of all steps together. If there is only one, it is that of every kernel.
    if (selection.byOp || (selection.countSteps && reader.stepTotals(selection.run).size() != 1))
        return sumsOfCalls(reader, selection);
    const std::optional<store::RunTotals> totals = reader.totals(selection.run);
    if (!totals)
        return {};
    SummedKernels summed;
    summed.events = summed.outsideSteps = reader.counts(selection.run).deviceEvents;
    for (const store::KernelTotal& total : totals->kernels) {
        summed.outsideSteps -= total.instances;
        KernelSum& sum = summed.sums.emplace_back();
        static_cast<store::KernelTotal&>(sum) = total;
        if (selection.countSteps)
            sum.steps.add(totals->steps.front().step);
    }
    return summed;
}

} // namespace

KernelSum& KernelSums::sumOf(DeviceEventKind kind, StringId name, StringId path, StringId op)
{
    const Key key{std::uint64_t{name.value} << 2 | std::uint64_t(kind),
                  std::uint64_t{op.value} << 32 | path.value};
    const auto [place, isNew] = places_.try_emplace(key, std::uint32_t(sums_.size()));
    if (isNew) {
        KernelSum& sum = sums_.emplace_back();
        sum.kind = kind;
        sum.name = name;
        sum.path = path;
        sum.op = op;
    }
    return sums_[place->second];
}

void KernelSums::add(const store::ActivityTotal& total, StringId op)
{
    KernelSum& sum = sumOf(total.kind, total.name, total.path, op);
    sum.add(total);
    total.steps.each([&sum](std::int32_t step) { sum.steps.add(step); });
}

void KernelSums::add(const DeviceEvent& event, StringId op)
{
    KernelSum& sum = sumOf(event.kind, event.name, event.path, op);
    sum.add((event.end - event.start).count());
    if (event.step != kNoStep)
        sum.steps.add(event.step);
}

std::vector<KernelSum> KernelSums::list() &&
{
    return std::move(sums_);
}

std::optional<SummedKernels> sumKernels(const store::RunReader& reader, const KernelSelection& selection,
                                        const std::function<bool()>& cancelled)
{
    if (std::optional<SummedKernels> stored = storedSums(reader, selection))
        return stored;
    OpNames ops;
    if (selection.byOp)
        ops.read(reader, selection.run);
    SummedKernels summed;
    KernelSums sums;
    bool going = true;
    std::optional<ProcessFilter> filter;
    if (!selection.topology.empty())
        filter.emplace(reader, selection.run, selection.topology);
    const bool wholeRecording = selection.span || reader.run(selection.run)->coversRecording();
    const store::EventWindow window = windowOf(reader, selection.run, selection.span);
    reader.eachDeviceEvent(window, [&](DeviceEvent event) {
        if (++summed.events % 65'536 == 0 && cancelled())
            going = false;
        if (filter && !filter->has(event))
            return going;
        clip(event, window);
        if (event.step == kNoStep && (!wholeRecording || selection.step))
            ++summed.outsideSteps;
        else if (selection.step && *selection.step != event.step)
            summed.otherPaths.insert(event.path);
        else
            sums.add(event, selection.byOp ? ops.of(event.op) : StringId{});
        return going;
    });
    if (!going)
        return {};
    if (selection.span)
        summed.events = reader.counts(selection.run).deviceEvents;
    summed.sums = std::move(sums).list();
    return summed;
}

} // namespace tilescope::query
