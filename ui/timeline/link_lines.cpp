#include "ui/timeline/link_lines.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace tilescope::ui {

namespace {

// The unclipped place of a box; coordinates far outside the view are clamped.
QRectF wholeRect(const TimelineScene& scene, const SectionItem& item, int width, int height)
{
    const QRect shown = scene.rectOf(item, width, height);
    if (shown.isEmpty())
        return {};
    const TimelineSection& section = scene.sections[item.section];
    const query::Track& row = section.timeline->lanes[item.item.lane].rows[item.item.row];
    const double far = 20.0 * width;
    const auto xOf = [&](std::int64_t time) {
        return std::clamp(scene.xOf(section.toAxis(double(time)), width), -far, far);
    };
    const double left = xOf(row.start(item.item.index));
    return {left, double(shown.top()), xOf(row.end(item.item.index)) - left, double(shown.height())};
}

} // namespace

std::vector<LinkLine> linkLines(const std::vector<SceneLink>& links, const TimelineScene& scene, int width,
                                int height)
{
    std::vector<LinkLine> lines;
    std::set<std::tuple<long, long, long, long>> drawn;
    const QRectF plot(scene.plot(width, height));
    for (const SceneLink& link : links) {
        if (link.kind == SceneLink::Kind::Collective)
            continue;
        const QRectF from = wholeRect(scene, link.from, width, height);
        const QRectF to = wholeRect(scene, link.to, width, height);
        if (from.height() <= 0 || to.height() <= 0)
            continue;
        const bool down = to.center().y() >= from.center().y();
        LinkLine line{{from.center().x(), down ? from.bottom() : from.top()},
                      {to.left() + std::min(to.width() / 2, 6.0), down ? to.top() : to.bottom()},
                      link.kind};
        const QRectF around = QRectF(line.from, line.to).normalized().adjusted(-1, -1, 1, 1);
        if (!around.intersects(plot))
            continue;
        if (drawn
                .insert({std::lround(line.from.x()), std::lround(line.from.y()), std::lround(line.to.x()),
                         std::lround(line.to.y())})
                .second)
            lines.push_back(line);
    }
    return lines;
}

std::vector<QPolygonF> collectiveBands(const std::vector<SceneLink>& links, const TimelineScene& scene,
                                       int width, int height)
{
    std::vector<QRectF> boxes;
    const auto add = [&](const SectionItem& item) {
        const QRectF box = wholeRect(scene, item, width, height);
        if (box.height() > 0 && std::ranges::find(boxes, box) == boxes.end())
            boxes.push_back(box);
    };
    for (const SceneLink& link : links)
        if (link.kind == SceneLink::Kind::Collective) {
            add(link.from);
            add(link.to);
        }
    std::ranges::sort(boxes, {}, &QRectF::top);
    std::vector<QPolygonF> bands;
    for (std::size_t i = 1; i < boxes.size(); ++i) {
        const QRectF& upper = boxes[i - 1];
        const QRectF& lower = boxes[i];
        bands.push_back(
            QPolygonF({upper.bottomLeft(), upper.bottomRight(), lower.topRight(), lower.topLeft()}));
    }
    return bands;
}

} // namespace tilescope::ui
