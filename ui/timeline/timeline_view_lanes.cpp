#include "ui/kit/view_history.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_view.h"

#include <QScrollBar>

#include <algorithm>

// How TimelineView arranges its lanes, and how the keyboard goes through them.

namespace tilescope::ui {

std::vector<std::vector<LaneView>> TimelineView::lanes() const
{
    std::vector<std::vector<LaneView>> lanes;
    for (const TimelineSection& section : scene_.sections)
        lanes.push_back(section.lanes);
    return lanes;
}

void TimelineView::noteLanes(const std::vector<std::vector<LaneView>>& before)
{
    const std::vector<std::vector<LaneView>> after = lanes();
    if (before == after)
        return;
    const auto arrangeLike = [this](const std::vector<std::vector<LaneView>>& arranged) {
        return [this, arranged] {
            for (std::size_t s = 0; s < scene_.sections.size(); ++s)
                scene_.sections[s].lanes = arranged[s];
            updateLanes();
        };
    };
    ViewHistory::note(*this, {.name = tr("arrangement of lanes"),
                              .undo = arrangeLike(before),
                              .redo = arrangeLike(after),
                              .of = boxes_,
                              .series = QStringLiteral("lanes")});
}

void TimelineView::updateLanes()
{
    relayoutUnderCursor();
    hoverAgain();
    describe();
    emit lanesChanged();
    viewport()->update();
}

void TimelineView::setFolded(LanePlace place, bool folded)
{
    const auto before = lanes();
    changeLane(scene_.sections, place, [folded](LaneView& view) { view.folded = folded; });
    noteLanes(before);
    updateLanes();
}

void TimelineView::setHidden(LanePlace place, bool hidden)
{
    const auto before = lanes();
    changeLane(scene_.sections, place, [hidden](LaneView& view) { view.hidden = hidden; });
    noteLanes(before);
    updateLanes();
    if (hidden && scene_.currentLane == place)
        stepLane(1);
}

void TimelineView::toggleCounters(std::size_t section)
{
    const auto before = lanes();
    const bool hide = showsCounterGroup(scene_.sections.at(section));
    for (const std::size_t view : counterGroup(scene_.sections[section]))
        changeLane(scene_.sections, {section, view}, [hide](LaneView& lane) { lane.hidden = hide; });
    noteLanes(before);
    updateLanes();
}

void TimelineView::setTall(LanePlace place, double tall)
{
    const auto before = lanes();
    changeLane(scene_.sections, place, [tall](LaneView& view) {
        view.tall = std::clamp(tall, LaneView::kLowest, LaneView::kTallest);
        view.folded = false;
    });
    noteLanes(before);
    updateLanes();
}

void TimelineView::setPinned(LanePlace place, bool pinned)
{
    const auto before = lanes();
    changeLane(scene_.sections, place, [pinned](LaneView& view) { view.pinned = pinned; });
    noteLanes(before);
    updateLanes();
}

void TimelineView::moveLane(LanePlace place, std::size_t to)
{
    const auto before = lanes();
    if (!ui::moveLane(scene_.sections, place, to))
        return;
    noteLanes(before);
    if (scene_.currentLane == place)
        scene_.currentLane = LanePlace{place.section, to};
    updateLanes();
}

void TimelineView::moveLane(LanePlace place, int by)
{
    const std::vector<LaneView>& lanes = scene_.sections.at(place.section).lanes;
    auto to = std::ptrdiff_t(place.view) + by;
    while (to >= 0 && to < std::ptrdiff_t(lanes.size()) && lanes[std::size_t(to)].hidden)
        to += by;
    if (to >= 0 && to < std::ptrdiff_t(lanes.size()))
        moveLane(place, std::size_t(to));
}

void TimelineView::setFitsLanes(bool fits)
{
    if (fitsLanes_ == fits)
        return;
    fitsLanes_ = fits;
    relayout();
    hoverAgain();
    viewport()->update();
    emit fitsLanesChanged(fits);
}

void TimelineView::showAllLanes()
{
    const auto before = lanes();
    for (TimelineSection& section : scene_.sections)
        for (LaneView& view : section.lanes)
            view.hidden = false;
    noteLanes(before);
    updateLanes();
}

void TimelineView::resetLanes()
{
    const auto before = lanes();
    for (TimelineSection& section : scene_.sections)
        section.lanes = makeSection(section.timeline, scene_.sections.size() > 1).lanes;
    scene_.currentLane.reset();
    noteLanes(before);
    updateLanes();
}

std::optional<LanePlace> TimelineView::currentLane() const
{
    if (scene_.currentLane)
        return scene_.currentLane;
    if (!scene_.selected)
        return {};
    const std::vector<LaneView>& lanes = scene_.sections[scene_.selected->section].lanes;
    for (std::size_t v = 0; v < lanes.size(); ++v)
        if (lanes[v].lane == scene_.selected->item.lane)
            return LanePlace{scene_.selected->section, v};
    return {};
}

void TimelineView::setCurrentLane(std::optional<LanePlace> place)
{
    if (scene_.currentLane == place)
        return;
    scene_.currentLane = place;
    emit currentLaneChanged();
    describe();
    viewport()->update();
}

void TimelineView::setLaneDropAt(std::optional<int> at)
{
    scene_.laneDropAt = at;
    viewport()->update();
}

void TimelineView::stepLane(int by)
{
    std::vector<LanePlace> shown;
    for (const Band& band : scene_.layout.bands)
        if (band.kind == Band::Kind::Lane)
            shown.push_back({band.section, band.view});
    if (shown.empty())
        return setCurrentLane({});
    const auto current = currentLane();
    const auto at = current ? std::find(shown.begin(), shown.end(), *current) : shown.end();
    const auto next = at == shown.end() ? (by > 0 ? 0 : std::ptrdiff_t(shown.size()) - 1)
                                        : std::clamp<std::ptrdiff_t>(at - shown.begin() + by, 0,
                                                                     std::ptrdiff_t(shown.size()) - 1);
    setCurrentLane(shown[std::size_t(next)]);
    for (const Band& band : scene_.layout.bands)
        if (band.kind == Band::Kind::Lane && LanePlace{band.section, band.view} == scene_.currentLane)
            showBand(band);
}

void TimelineView::showBand(const Band& band)
{
    const int visible = scene_.plot(width(), height()).height();
    if (band.isPinned)
        return;
    if (const int covered = scene_.layout.coveredHeight(); scene_.topOf(band) < covered)
        verticalScrollBar()->setValue(band.top - covered);
    else if (band.top + band.height > scene_.scroll + visible)
        verticalScrollBar()->setValue(band.top + band.height - visible);
}

} // namespace tilescope::ui
