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

} // namespace tilescope::ui
