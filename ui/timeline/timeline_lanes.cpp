// What is done to a timeline's lanes: fold, hide, order, height, by mouse and by command.

#include "ui/theme/theme.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_view.h"

#include <QApplication>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kEdge = 3; // pixels around a lane's lower edge that take hold of it

// Index into the section's lanes of the lane with that key.
std::optional<std::size_t> viewOf(const TimelineSection& section, const std::string& key)
{
    for (std::size_t v = 0; v < section.lanes.size(); ++v)
        if (laneKey(*section.timeline, section.lanes[v].lane) == key)
            return v;
    return {};
}

} // namespace

const LaneView& TimelineView::laneAt(LanePlace place) const
{
    return scene_.sections.at(place.section).lanes.at(place.view);
}

template <class Change> void TimelineView::changeLane(LanePlace place, Change change)
{
    const std::string key = laneKey(*scene_.sections.at(place.section).timeline, laneAt(place).lane);
    for (TimelineSection& section : scene_.sections)
        if (const auto view = viewOf(section, key))
            change(section.lanes[*view]);
    lanesDiffer();
}

void TimelineView::lanesDiffer()
{
    relayout();
    hoverAgain();
    emit lanesChanged();
    viewport()->update();
}

void TimelineView::setFolded(LanePlace place, bool folded)
{
    changeLane(place, [folded](LaneView& view) { view.folded = folded; });
}

void TimelineView::setHidden(LanePlace place, bool hidden)
{
    changeLane(place, [hidden](LaneView& view) { view.hidden = hidden; });
    if (hidden && scene_.currentLane == place)
        stepLane(1);
}

void TimelineView::setTall(LanePlace place, double tall)
{
    changeLane(place, [tall](LaneView& view) {
        view.tall = std::clamp(tall, LaneView::kLowest, LaneView::kTallest);
        view.folded = false;
    });
}

void TimelineView::moveLane(LanePlace place, std::size_t to)
{
    const TimelineSection& own = scene_.sections.at(place.section);
    if (to >= own.lanes.size() || to == place.view)
        return;
    const std::string key = laneKey(*own.timeline, own.lanes.at(place.view).lane);
    const std::string target = laneKey(*own.timeline, own.lanes[to].lane);
    const bool down = to > place.view;
    for (TimelineSection& section : scene_.sections) {
        const auto from = viewOf(section, key);
        const auto at = viewOf(section, target);
        if (!from || !at)
            continue;
        const LaneView moved = section.lanes[*from];
        section.lanes.erase(section.lanes.begin() + std::ptrdiff_t(*from));
        // The target has moved up where the lane stood above it; the lane goes below it where it moves down.
        const std::size_t behind = (*from < *at ? *at - 1 : *at) + (down ? 1 : 0);
        section.lanes.insert(section.lanes.begin() + std::ptrdiff_t(behind), moved);
    }
    if (scene_.currentLane == place)
        scene_.currentLane = LanePlace{place.section, to};
    lanesDiffer();
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
    for (TimelineSection& section : scene_.sections)
        for (LaneView& view : section.lanes)
            view.hidden = false;
    lanesDiffer();
}

void TimelineView::resetLanes()
{
    for (TimelineSection& section : scene_.sections)
        section.lanes = makeSection(section.timeline).lanes;
    scene_.currentLane.reset();
    lanesDiffer();
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
    if (band.top < scene_.scroll)
        verticalScrollBar()->setValue(band.top);
    else if (band.top + band.height > scene_.scroll + visible)
        verticalScrollBar()->setValue(band.top + band.height - visible);
}

// Mouse
// ----------------------------------------------------------------------------------------------------------

void TimelineView::pressOnLabel(QPoint at)
{
    const Band* band = bandAt(at);
    if (band == nullptr || band->kind != Band::Kind::Lane)
        return;
    pressedLane_ = LanePlace{band->section, band->view};
    pressedTall_ = laneAt(*pressedLane_).tall;
    const int bottom = scene_.plot(width(), height()).top() - scene_.scroll + band->top + band->height;
    drag_ = bottom - at.y() <= kEdge && !laneAt(*pressedLane_).folded ? Drag::LaneHeight : Drag::Lane;
}

void TimelineView::updateCursorShape(QPoint at)
{
    const Band* band = at.x() < scene_.sizes.label ? bandAt(at) : nullptr;
    const bool lane = band != nullptr && band->kind == Band::Kind::Lane;
    const int bottom =
        lane ? scene_.plot(width(), height()).top() - scene_.scroll + band->top + band->height : 0;
    if (lane && bottom - at.y() <= kEdge && !laneAt({band->section, band->view}).folded)
        viewport()->setCursor(Qt::SplitVCursor);
    else
        viewport()->unsetCursor();
}

void TimelineView::dragLane(QPoint at)
{
    const int moved = at.y() - pressedAt_.y();
    if (drag_ == Drag::LaneHeight) {
        for (const Band& band : scene_.layout.bands) {
            if (band.kind != Band::Kind::Lane || LanePlace{band.section, band.view} != *pressedLane_)
                continue;
            const double usual = band.height / laneAt(*pressedLane_).tall;
            return setTall(*pressedLane_, pressedTall_ + moved / std::max(1.0, usual));
        }
        return;
    }
    if (std::abs(moved) < QApplication::startDragDistance())
        return;
    const Band* band = bandAt(at);
    scene_.laneDropAt.reset();
    if (band != nullptr && band->kind == Band::Kind::Lane && band->section == pressedLane_->section)
        scene_.laneDropAt = band->view > pressedLane_->view ? band->top + band->height : band->top;
    viewport()->setCursor(Qt::ClosedHandCursor);
    viewport()->update();
}

// A click folds, a drag moves.
void TimelineView::dropLane(QPoint at)
{
    const LanePlace place = *pressedLane_;
    const bool dragged = std::abs(at.y() - pressedAt_.y()) >= QApplication::startDragDistance();
    const bool moves = scene_.laneDropAt.has_value();
    scene_.laneDropAt.reset();
    pressedLane_.reset();
    viewport()->update();
    if (!dragged)
        return setFolded(place, !laneAt(place).folded);
    const Band* band = bandAt(at);
    if (moves && band != nullptr && band->kind == Band::Kind::Lane && band->section == place.section)
        moveLane(place, band->view);
}

// What commands are about
// -----------------------------------------------------------------------------------------

double TimelineView::commandAxis() const
{
    if (cursor_.x() >= scene_.sizes.label && viewport()->rect().contains(cursor_))
        return scene_.axisAt(cursor_.x(), width());
    if (const std::optional<TimeWindow> window = selectedWindow())
        return window->from;
    return (scene_.window.from + scene_.window.to) / 2;
}

std::size_t TimelineView::commandSection() const
{
    if (const Band* band = bandAt(cursor_))
        return band->section;
    return scene_.selected ? scene_.selected->section : scene_.currentLane ? scene_.currentLane->section : 0;
}

QPoint TimelineView::commandPoint() const
{
    if (scene_.currentLane)
        for (const Band& band : scene_.layout.bands)
            if (band.kind == Band::Kind::Lane && LanePlace{band.section, band.view} == *scene_.currentLane)
                return {scene_.sizes.label / 2,
                        scene_.plot(width(), height()).top() - scene_.scroll + band.top + band.height / 2};
    if (scene_.selected)
        if (const QRect rect = scene_.rectOf(*scene_.selected, width(), height());
            rect.intersects(scene_.plot(width(), height())))
            return rect.intersected(scene_.plot(width(), height())).center();
    return viewport()->rect().contains(cursor_) ? cursor_ : viewport()->rect().center();
}

// The flags of notes stand on the ruler.
std::optional<QString> TimelineView::noteAt(QPoint at) const
{
    if (!scene_.ruler(width()).contains(at) || at.x() < scene_.sizes.label)
        return {};
    for (const SceneNote& note : scene_.notes) {
        const double x = scene_.xOf(scene_.sections[note.section].toAxis(double(note.at)), width());
        if (at.x() >= x - 2 && at.x() <= x + sizes().of(12))
            return note.id;
    }
    return {};
}

} // namespace tilescope::ui
