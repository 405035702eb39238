#include "core/analysis/device_totals.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::analysis {

namespace {

/// Counts distinct steps per group. Events mostly come in step order, so the last step seen answers nearly
/// all.
struct Accumulator {
    DeviceTotal total;
    std::int32_t lastStep = kNoStep;
    std::unordered_set<std::int32_t> steps;

    void add(const DeviceEvent& event)
    {
        const Nanoseconds duration = event.end - event.start;
        total.shortest = total.instances == 0 ? duration : std::min(total.shortest, duration);
        total.longest = std::max(total.longest, duration);
        total.total += duration;
        ++total.instances;
        if (event.step != kNoStep && event.step != lastStep) {
            steps.insert(event.step);
            lastStep = event.step;
        }
    }
};

} // namespace

std::vector<DeviceTotal> deviceTotals(std::span<const DeviceEvent> events, const GroupOf& groupOf)
{
    std::unordered_map<std::uint32_t, Accumulator> groups;
    for (const DeviceEvent& event : events)
        if (const std::optional<std::uint32_t> group = groupOf(event))
            groups[*group].add(event);

    std::vector<DeviceTotal> totals;
    totals.reserve(groups.size());
    for (auto& [group, accumulator] : groups) {
        accumulator.total.group = group;
        accumulator.total.steps = static_cast<std::int64_t>(accumulator.steps.size());
        totals.push_back(accumulator.total);
    }
    std::sort(totals.begin(), totals.end(), [](const DeviceTotal& a, const DeviceTotal& b) {
        return a.total != b.total ? a.total > b.total : a.group < b.group;
    });
    return totals;
}

} // namespace tilescope::analysis
