#include "ui/timeline/timeline_growth.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilescope::ui {

namespace {

// The lane of `timeline` that corresponds to `lane` of an earlier timeline of the same run.
std::optional<std::size_t> sameLane(const query::Lane& lane, const query::Timeline& timeline)
{
    for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
        const query::Lane& other = timeline.lanes[i];
        if (other.kind == lane.kind && other.thread == lane.thread && other.device == lane.device &&
            other.stream == lane.stream && other.counter == lane.counter)
            return i;
    }
    return {};
}

// The box of `now` that corresponds to `item` of an earlier timeline of the same run; null if there is none.
std::optional<query::TimelineItem> sameItem(const query::Timeline& before, const query::TimelineItem& item,
                                            const query::Timeline& now)
{
    const query::Lane& lane = before.lanes[item.lane];
    const query::Track& row = lane.rows[item.row];
    const auto laneNow = sameLane(lane, now);
    if (!laneNow)
        return {};
    const std::int64_t start = row.start(item.index) + (before.origin - now.origin).count();
    const std::vector<query::Track>& rows = now.lanes[*laneNow].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::size_t i = rows[r].firstFrom(start);
        if (i < rows[r].size() && rows[r].start(i) == start && rows[r].length(i) == row.length(item.index))
            return query::TimelineItem{*laneNow, r, i};
    }
    return {};
}

// Returns how far an instant has moved on the axis: it moves if an earlier first event has appeared.
double growSection(TimelineSection& section, const TimelineSection& grown)
{
    const std::shared_ptr<const query::Timeline>& timeline = grown.timeline;
    const query::Timeline& before = *section.timeline;
    std::vector<LaneView> lanes;
    for (const LaneView& view : section.lanes)
        if (const auto lane = sameLane(before.lanes[view.lane], *timeline)) {
            lanes.push_back(view);
            lanes.back().lane = *lane;
        }
    // A new lane is placed behind its predecessor in the timeline's own order.
    std::vector<LaneView> inOrder = grown.lanes;
    std::sort(inOrder.begin(), inOrder.end(),
              [](const LaneView& a, const LaneView& b) { return a.lane < b.lane; });
    for (const LaneView& view : inOrder) {
        const auto isThis = [](std::size_t lane) {
            return [lane](const LaneView& other) { return other.lane == lane; };
        };
        if (std::any_of(lanes.begin(), lanes.end(), isThis(view.lane)))
            continue;
        const auto previous = std::find_if(lanes.begin(), lanes.end(), isThis(view.lane - 1));
        lanes.insert(view.lane > 0 && previous != lanes.end() ? previous + 1 : lanes.begin(), view);
    }
    const auto moved = double((before.origin - timeline->origin).count());
    const bool aligned = section.step.has_value();
    if (aligned)
        section.alignAt += moved;
    for (const query::TimelineStep& step : timeline->steps)
        if (section.step && step.step == section.step->step && step.process == section.step->process) {
            if (section.alignedLength == section.step->end - section.step->start)
                section.alignedLength = step.end - step.start;
            section.step = step;
        }
    section.lanes = std::move(lanes);
    section.timeline = timeline;
    section.title = grown.title;
    section.letter = grown.letter;
    section.source = grown.source;
    section.verdict = grown.verdict;
    section.partitions = grown.partitions;
    return aligned ? 0 : moved * section.stretch;
}

} // namespace

void growScene(TimelineScene& scene, const std::vector<TimelineSection>& grown)
{
    const bool fitted = scene.window == fittingWindow(scene.sections);
    const auto follow = [&](const SectionItem& item) {
        const query::Timeline& before = *scene.sections[item.section].timeline;
        const auto now = sameItem(before, item.item, *grown[item.section].timeline);
        return now ? std::optional(SectionItem{item.section, *now}) : std::nullopt;
    };
    for (auto* boxes : {&scene.found, &scene.instances})
        if (*boxes)
            *boxes = std::make_shared<const BoxSet>((*boxes)->mapped(follow));
    for (auto* links : {&scene.links, &scene.launches}) {
        std::vector<SceneLink> now;
        for (const SceneLink& link : *links) {
            const auto from = follow(link.from);
            const auto to = follow(link.to);
            if (from && to)
                now.push_back({link.kind, *from, *to});
        }
        *links = std::move(now);
    }
    scene.path.reset();          // its lanes may have other numbers
    scene.selectedRange.clear(); // computed again with the selection
    if (scene.selected)
        scene.selected = follow(*scene.selected);
    double shift = 0; // of the first section, whose axis the window uses
    for (std::size_t s = 0; s < grown.size(); ++s)
        if (const double moved = growSection(scene.sections[s], grown[s]); s == 0)
            shift = moved;
    scene.window = fitted ? fittingWindow(scene.sections) : scene.window.panned(shift);
}

} // namespace tilescope::ui
