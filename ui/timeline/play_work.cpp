#include "ui/timeline/play_work.h"

#include <algorithm>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

std::vector<const Lane*> workLanes(const query::Timeline& timeline)
{
    std::vector<const Lane*> lanes;
    for (const Lane::Kind kind : {Lane::Kind::Stream, Lane::Kind::Thread, Lane::Kind::Ranges}) {
        for (const Lane& lane : timeline.lanes)
            if (lane.kind == kind && lane.events() > 0)
                lanes.push_back(&lane);
        if (!lanes.empty())
            break;
    }
    return lanes;
}

// The innermost box of a lane at an instant.
std::optional<std::uint32_t> nameAt(const query::Timeline& timeline, const Lane& lane, std::int64_t time)
{
    for (auto row = lane.rows.rbegin(); row != lane.rows.rend(); ++row)
        if (const auto index = timeline.hit(*row, time, 0))
            return row->name(*index);
    return {};
}

} // namespace

QString runningAt(const query::Timeline& timeline, std::int64_t time)
{
    std::optional<std::uint32_t> first;
    int others = 0;
    for (const Lane* lane : workLanes(timeline))
        if (const auto name = nameAt(timeline, *lane, time)) {
            if (first)
                ++others;
            else
                first = name;
        }
    if (!first)
        return QStringLiteral("idle");
    const QString label = QString::fromStdString(timeline.names[*first].label);
    return others == 0 ? label : label + QStringLiteral(" +%1").arg(others);
}

std::optional<std::int64_t> nextStart(const query::Timeline& timeline, std::int64_t time, int by)
{
    std::optional<std::int64_t> nearest;
    for (const Lane* lane : workLanes(timeline))
        for (const Track& row : lane->rows) {
            const std::size_t after = row.firstFrom(by > 0 ? time + 1 : time);
            if (by > 0 ? after >= row.size() : after == 0)
                continue;
            const std::int64_t start = row.start(by > 0 ? after : after - 1);
            if (!nearest || (by > 0 ? start < *nearest : start > *nearest))
                nearest = start;
        }
    return nearest;
}

} // namespace tilescope::ui
