#include "ui/plots/timeline_layout.h"

#include "ui/theme/theme.h"

#include <algorithm>
#include <limits>

namespace tilescope::ui {

using query::Lane;

LaneSizes LaneSizes::forWindow(double nanosecondsPerPixel)
{
    // From about 1.5 ms in a window on, host ops are wide enough to be read.
    const bool close = nanosecondsPerPixel < 1500;
    const Sizes& s = sizes();
    LaneSizes result;
    result.label = s.of(152);
    result.overview = s.of(60);
    result.ruler = s.of(24);
    result.header = s.of(24);
    result.difference = s.of(36);
    result.range = s.of(close ? 21 : 16);
    result.op = s.of(close ? 16 : 11);
    result.stream = s.of(close ? 32 : 30);
    result.busy = s.of(close ? 20 : 16);
    result.memory = s.of(36);
    result.folded = s.of(20);
    result.gap = s.of(4);
    return result;
}

namespace {

int rowHeightOf(const Lane& lane, const LaneSizes& sizes)
{
    switch (lane.kind) {
    case Lane::Kind::Ranges:
        return sizes.range;
    case Lane::Kind::Thread:
        return sizes.op;
    case Lane::Kind::Stream:
        // Streams that overlap themselves share the height of two.
        return lane.rows.size() > 1 ? std::max(sizes.op, 2 * sizes.stream / int(lane.rows.size()))
                                    : sizes.stream;
    case Lane::Kind::Busy:
        return sizes.busy;
    case Lane::Kind::Memory:
        return 0;
    }
    return 0;
}

int heightOf(const Lane& lane, const LaneSizes& sizes)
{
    if (lane.kind == Lane::Kind::Memory)
        return sizes.memory;
    const int rows = rowHeightOf(lane, sizes) * int(lane.rows.size());
    // Two lines of label need their place.
    const int least = lane.detail.empty() ? sizes.folded : 2 * sizes.busy;
    return lane.kind == Lane::Kind::Busy ? rows : std::max(rows, least);
}

} // namespace

const Band* TimelineLayout::at(int y) const
{
    for (const Band& band : bands)
        if (y >= band.top && y < band.top + band.height)
            return &band;
    return nullptr;
}

TimelineLayout layOut(const std::vector<TimelineSection>& sections, const LaneSizes& sizes)
{
    TimelineLayout layout;
    int y = 0;
    for (std::size_t s = 0; s < sections.size(); ++s) {
        if (s > 0) {
            layout.bands.push_back({Band::Kind::Difference, s, 0, y, sizes.difference, 0});
            y += sizes.difference;
        }
        layout.bands.push_back({Band::Kind::Header, s, 0, y, sizes.header, 0});
        y += sizes.header + sizes.gap;
        for (std::size_t v = 0; v < sections[s].lanes.size(); ++v) {
            const LaneView& view = sections[s].lanes[v];
            if (view.hidden)
                continue;
            const Lane& lane = sections[s].timeline->lanes[view.lane];
            const int height = view.folded ? sizes.folded : heightOf(lane, sizes);
            const int row = view.folded ? std::max(1, sizes.folded / std::max(1, int(lane.rows.size())))
                                        : rowHeightOf(lane, sizes);
            layout.bands.push_back({Band::Kind::Lane, s, v, y, height, row});
            y += height + sizes.gap;
        }
    }
    layout.height = y;
    return layout;
}

namespace {

// A lane without events, or a host thread that has next to nothing to do in the steps.
bool isIdle(const query::Timeline& timeline, const Lane& lane)
{
    constexpr double kLeastShare = 0.01;
    if (lane.events() == 0)
        return true;
    if (lane.kind != Lane::Kind::Thread)
        return false;
    const auto [from, to] = timeline.interesting();
    return double(lane.rows.front().covered(from, to)) < kLeastShare * double(to - from);
}

} // namespace

TimelineSection makeSection(std::shared_ptr<const query::Timeline> timeline)
{
    TimelineSection section;
    if (!timeline->steps.empty()) {
        section.step = timeline->steps.front();
        section.alignAt = double(timeline->steps.front().start);
    }
    for (std::size_t i = 0; i < timeline->lanes.size(); ++i)
        section.lanes.push_back({i, isIdle(*timeline, timeline->lanes[i]), false});
    section.timeline = std::move(timeline);
    return section;
}

TimeWindow fittingWindow(const std::vector<TimelineSection>& sections)
{
    TimeWindow window{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const TimelineSection& section : sections) {
        const auto [from, to] = section.timeline->interesting();
        window.from = std::min(window.from, section.toAxis(double(from)));
        window.to = std::max(window.to, section.toAxis(double(to)));
    }
    return sections.empty() ? TimeWindow{} : window;
}

TimeWindow wholeWindow(const std::vector<TimelineSection>& sections)
{
    TimeWindow window{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const TimelineSection& section : sections) {
        window.from = std::min(window.from, section.toAxis(0));
        window.to =
            std::max(window.to, section.toAxis(double(std::max<std::int64_t>(section.timeline->length, 1))));
    }
    return sections.empty() ? TimeWindow{} : window;
}

} // namespace tilescope::ui
