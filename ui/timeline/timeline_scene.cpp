#include "ui/timeline/timeline_scene.h"

#include "ui/theme/theme.h"
#include "ui/timeline/lane_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope::ui {

using query::Lane;
using query::Track;

QRect TimelineScene::overview(int width) const
{
    return {0, 0, width, sizes.overview};
}

QRect TimelineScene::ruler(int width) const
{
    return {0, sizes.overview, width, sizes.ruler};
}

QRect TimelineScene::plot(int width, int height) const
{
    const int top = sizes.overview + sizes.ruler;
    return {sizes.label, top, std::max(1, width - sizes.label), std::max(1, height - top)};
}

double TimelineScene::perPixel(int width) const
{
    return window.length() / std::max(1, width - sizes.label);
}

double TimelineScene::drawnTo(std::size_t section) const
{
    return play ? play->reached(section) * sections[section].stretch
                : std::numeric_limits<double>::infinity();
}

double TimelineScene::axisAt(double x, int width) const
{
    return window.from + (x - sizes.label) * perPixel(width);
}

double TimelineScene::xOf(double axis, int width) const
{
    return sizes.label + (axis - window.from) / perPixel(width);
}

double TimelineScene::overviewAxisAt(double x, int width) const
{
    const TimeWindow whole = wholeWindow(sections);
    const double plotWidth = std::max(1, width - sizes.label - ui::sizes().of(8));
    return whole.from + (x - sizes.label) / plotWidth * whole.length();
}

std::optional<QString> TimelineScene::noteAt(QPoint point, int width) const
{
    if (!ruler(width).contains(point) || point.x() < sizes.label)
        return {};
    for (const SceneNote& note : notes) {
        const double x = xOf(sections[note.section].toAxis(double(note.at)), width);
        if (point.x() >= x - 2 && point.x() <= x + ui::sizes().of(12))
            return note.id;
    }
    return {};
}

MemoryRange TimelineScene::memoryRange() const
{
    MemoryRange range;
    for (const TimelineSection& section : sections)
        for (const Lane& lane : section.timeline->lanes)
            range.include(lane);
    return range;
}

MemoryRange TimelineScene::rangeOf(const Lane& lane) const
{
    if (lane.kind != Lane::Kind::Counter)
        return memoryRange();
    MemoryRange range;
    for (const TimelineSection& section : sections)
        for (const Lane& other : section.timeline->lanes)
            if (other.kind == lane.kind && other.counter == lane.counter && other.unit == lane.unit &&
                !other.values.empty())
                range.include(other.values);
    // Shares have the same height in all lanes; the use of several processors exceeds 100 %.
    const double whole = 100 * kPartsOfCounterUnit;
    const bool isShare = lane.unit == "%" && range.to <= 1.11 * whole;
    return isShare ? MemoryRange{whole} : range;
}

const Lane& TimelineScene::laneOf(const Band& band) const
{
    const TimelineSection& section = sections[band.section];
    return section.timeline->lanes[section.lanes[band.view].lane];
}

const Band* TimelineScene::curveAt(QPoint point, int width, int height) const
{
    const Band* band = plot(width, height).contains(point) ? bandAt(point, width, height) : nullptr;
    if (band == nullptr || band->kind != Band::Kind::Lane || !isCurve(laneOf(*band)))
        return nullptr;
    return axisAt(point.x(), width) <= drawnTo(band->section) ? band : nullptr;
}

const Band* TimelineScene::bandAt(QPoint point, int width, int height) const
{
    const QRect area = plot(width, height);
    if (point.y() < area.top() || point.y() > area.bottom())
        return nullptr;
    return layout.at(point.y() - area.top(), scroll);
}

bool TimelineScene::isSeen(const Band& band, int plotHeight) const
{
    const int top = topOf(band);
    return top <= plotHeight && top + band.height >= (band.isPinned ? 0 : layout.pinnedHeight);
}

std::optional<SectionItem> TimelineScene::itemAt(QPoint point, int width, int height) const
{
    constexpr double kReach = 3; // pixels
    const QRect area = plot(width, height);
    const Band* band = area.contains(point) ? bandAt(point, width, height) : nullptr;
    if (band == nullptr || band->kind != Band::Kind::Lane ||
        axisAt(point.x(), width) > drawnTo(band->section))
        return {};
    const int y = point.y() - area.top() - topOf(*band) + band->top; // in the layout
    const TimelineSection& section = sections[band->section];
    const LaneView& view = section.lanes[band->view];
    const Lane& lane = section.timeline->lanes[view.lane];
    if (band->rowHeight == 0)
        return {};
    const double time = section.toTimeline(axisAt(point.x(), width));
    const double reach = kReach * perPixel(width) / section.stretch;
    const auto first = std::size_t(band->rowAt(y));
    const std::size_t end = int(first) < band->rows ? first + 1 : lane.rows.size();
    for (std::size_t row = first; row < std::min(end, lane.rows.size()); ++row)
        if (const auto index = section.timeline->hit(lane.rows[row], std::int64_t(time), std::int64_t(reach)))
            return SectionItem{band->section, {view.lane, row, *index}};
    return {};
}

const Band* TimelineScene::bandOf(const SectionItem& item) const
{
    const auto isItsLane = [&](const Band& band) {
        return band.kind == Band::Kind::Lane && band.section == item.section &&
               sections[band.section].lanes[band.view].lane == item.item.lane;
    };
    const auto band = std::ranges::find_if(layout.bands, isItsLane);
    return band == layout.bands.end() ? nullptr : &*band;
}

QRect TimelineScene::rectOf(const SectionItem& item, int width, int height) const
{
    if (item.section >= sections.size())
        return {};
    const TimelineSection& section = sections[item.section];
    const QRect area = plot(width, height);
    const Band* band = bandOf(item);
    if (band == nullptr)
        return {};
    const Track& row = section.timeline->lanes[item.item.lane].rows[item.item.row];
    const double left = xOf(section.toAxis(double(row.start(item.item.index))), width);
    const double right = xOf(section.toAxis(double(row.end(item.item.index))), width);
    const int top = area.top() + topOf(*band) + band->rowTop(item.item.row) - band->top;
    const int rowHeight = band->heightOf(item.item.row);
    // Far outside, the exact place does not matter and would overflow.
    const int from = int(std::floor(std::clamp(left, double(-10), double(width + 10))));
    const int to = int(std::ceil(std::clamp(right, double(-10), double(width + 10))));
    return {from, top, std::max(1, to - from), rowHeight - (rowHeight > 8 ? 1 : 0)};
}

} // namespace tilescope::ui
