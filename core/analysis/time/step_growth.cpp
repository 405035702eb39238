#include "core/analysis/time/step_growth.h"

#include <algorithm>
#include <vector>

namespace tilescope::analysis {

void StepGrowth::add(std::span<const AllocEvent> events)
{
    for (const AllocEvent& event : events)
        if (event.step != kNoStep && event.action != AllocAction::Oom)
            after_[{event.device, event.step}] = event.allocated;
}

std::optional<Bytes> StepGrowth::perStep() const
{
    constexpr std::size_t kFewest = 3;
    std::map<DeviceIndex, std::vector<std::int64_t>> byDevice;
    for (const auto& [where, allocated] : after_)
        byDevice[where.first].push_back(allocated);
    std::optional<Bytes> most;
    for (const auto& [device, levels] : byDevice) {
        const bool grows = std::ranges::adjacent_find(levels, std::ranges::greater_equal{}) == levels.end();
        if (levels.size() < kFewest || !grows)
            continue;
        const std::int64_t steps = static_cast<std::int64_t>(levels.size()) - 1;
        most = std::max(most.value_or(Bytes{}), Bytes{(levels.back() - levels.front()) / steps});
    }
    return most;
}

} // namespace tilescope::analysis
