#include "core/query/timeline/work_beneath.h"

#include <algorithm>

namespace tilescope::query {

std::vector<WorkBeneath> workBeneath(const Timeline& timeline, DeviceIndex device, std::int64_t from,
                                     std::int64_t to)
{
    std::vector<WorkBeneath> works;
    for (const Lane& lane : timeline.lanes) {
        if (lane.kind != Lane::Kind::Stream || lane.device != device)
            continue;
        for (const Track& row : lane.rows) {
            const auto [first, last] = row.overlapping(from, to);
            for (std::size_t i = first; i < last; ++i) {
                auto same = std::ranges::find(works, row.name(i), &WorkBeneath::name);
                if (same == works.end())
                    same = works.insert(works.end(), {.name = row.name(i), .hue = row.hue(i)});
                same->time += std::min(row.end(i), to) - std::max(row.start(i), from);
            }
        }
    }
    std::ranges::stable_sort(works, std::greater{}, &WorkBeneath::time);
    return works;
}

} // namespace tilescope::query
