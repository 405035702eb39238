#include "core/query/compare/side_totals.h"

#include "core/store/tracks/call_totals.h"

#include <algorithm>

namespace tilescope::query {

SideTotals::SideTotals(const store::RunReader& reader, RunId run)
{
    for (const store::StepTotal& step : reader.stepTotals(run))
        steps_[step.process].push_back(step);
    const std::optional<store::CallTotals> totals = reader.callTotals(run);
    if (!totals)
        return;
    const bool hasSeveral = reader.topology(run).processes.size() > 1;
    knowsAllocated_ = true;
    for (const store::AllocationTotal& total : totals->allocations) {
        if (!total.isTraced || !total.isOnGpu)
            continue;
        // The memory of a device that several processes use belongs to none.
        knowsAllocated_ = knowsAllocated_ && (total.process || !hasSeveral);
        allocated_[total.process][total.path] += static_cast<double>(total.bytes);
    }
}

std::optional<std::vector<store::StepTotal>> SideTotals::stepsOf(ProcessIndex process,
                                                                 std::span<const Range> steps) const
{
    const auto found = steps_.find(process);
    if (found == steps_.end() ||
        !std::ranges::equal(found->second, steps, {}, &store::StepTotal::step, &Range::step))
        return {};
    return found->second;
}

const std::map<StringId, double>* SideTotals::allocatedIn(ProcessIndex process) const
{
    static const std::map<StringId, double> kNothing;
    if (!knowsAllocated_)
        return nullptr;
    const auto found = allocated_.find(process);
    return found == allocated_.end() ? &kNothing : &found->second;
}

} // namespace tilescope::query
