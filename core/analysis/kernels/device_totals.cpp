#include "core/analysis/kernels/device_totals.h"

#include <algorithm>

namespace tilescope::analysis {

void DeviceTotals::add(std::uint32_t group, const DeviceEvent& event)
{
    Accumulator& sum = groups_[group];
    DeviceTotal& total = sum.total;
    const Nanoseconds duration = event.end - event.start;
    total.shortest = total.instances == 0 ? duration : std::min(total.shortest, duration);
    total.longest = std::max(total.longest, duration);
    total.total += duration;
    ++total.instances;
    if (event.step != kNoStep && event.step != sum.lastStep) {
        sum.steps.insert(event.step);
        sum.lastStep = event.step;
    }
}

std::vector<DeviceTotal> DeviceTotals::list() const
{
    std::vector<DeviceTotal> totals;
    totals.reserve(groups_.size());
    for (const auto& [group, sum] : groups_) {
        totals.push_back(sum.total);
        totals.back().group = group;
        totals.back().steps = static_cast<std::int64_t>(sum.steps.size());
    }
    std::sort(totals.begin(), totals.end(), [](const DeviceTotal& a, const DeviceTotal& b) {
        return a.total != b.total ? a.total > b.total : a.group < b.group;
    });
    return totals;
}

} // namespace tilescope::analysis
