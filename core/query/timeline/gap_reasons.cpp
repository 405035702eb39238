#include "core/query/timeline/gap_reasons.h"

#include <algorithm>

namespace tilescope::query {

namespace {

// Sorted and disjoint.
Stretches unionOf(Stretches stretches)
{
    std::ranges::sort(stretches);
    Stretches result;
    for (const auto& [from, to] : stretches) {
        if (from >= to)
            continue;
        if (!result.empty() && from <= result.back().second)
            result.back().second = std::max(result.back().second, to);
        else
            result.emplace_back(from, to);
    }
    return result;
}

} // namespace

Track withReasons(Track busy, Stretches tracing, Stretches waiting, TimelineNames& names)
{
    const Stretches reasons[] = {unionOf(std::move(tracing)), unionOf(std::move(waiting))};
    if (reasons[0].empty() && reasons[1].empty())
        return busy;
    TrackBuilder result;
    result.reserve(busy.size());
    constexpr Hue kHues[] = {Hue::GapTracing, Hue::GapSynchronizing};
    std::size_t next[] = {0, 0};
    for (std::size_t i = 0; i < busy.size(); ++i) {
        const std::int64_t end = busy.end(i);
        for (std::int64_t at = busy.start(i); at < end;) {
            std::int64_t until = end;
            Hue hue = busy.hue(i);
            for (std::size_t r = 2; r-- > 0 && busy.hue(i) != Hue::Busy;) {
                while (next[r] < reasons[r].size() && reasons[r][next[r]].second <= at)
                    ++next[r];
                if (next[r] == reasons[r].size() || reasons[r][next[r]].first >= end)
                    continue;
                if (reasons[r][next[r]].first <= at) {
                    hue = kHues[r];
                    until = std::min(r == 0 ? end : until, reasons[r][next[r]].second);
                } else {
                    until = std::min(until, reasons[r][next[r]].first);
                }
            }
            until = std::min(until, end);
            result.add(at, until, hue == busy.hue(i) ? busy.name(i) : names.state(hue).name, hue);
            at = until;
        }
    }
    return std::move(result).build();
}

} // namespace tilescope::query
