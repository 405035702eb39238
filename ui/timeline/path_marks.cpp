#include "ui/timeline/path_marks.h"

#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tilescope::ui {

void paintPath(QPainter& painter, const TimelineScene& scene, int width, int height)
{
    if (!scene.path || scene.play)
        return;
    const QRect plot = scene.plot(width, height);
    std::map<std::pair<std::size_t, std::size_t>, const Band*> bands;
    for (const Band& band : scene.layout.bands)
        if (band.kind == Band::Kind::Lane)
            bands[{band.section, scene.sections[band.section].lanes[band.view].lane}] = &band;
    const int covered = scene.layout.coveredHeight();
    const int thick = sizes().of(3);
    const QColor colour = colours().accent;
    painter.save();
    painter.setClipRect(plot.adjusted(0, covered, 0, 0));
    std::optional<QPointF> before;
    for (const ScenePath::Part& part : scene.path->parts) {
        const auto band = bands.find({part.section, part.lane});
        if (band == bands.end())
            continue;
        const TimelineSection& section = scene.sections[part.section];
        const auto xOf = [&](std::int64_t time) {
            return std::clamp(scene.xOf(section.toAxis(double(time)), width), -2.0 * width, 3.0 * width);
        };
        const double left = xOf(part.start);
        const double right = std::max(left + 1, xOf(part.end));
        const Band& lane = *band->second;
        const int bottom = plot.top() + scene.topOf(lane) + (lane.rowTop(part.row) - lane.top) +
                           std::max(thick, lane.heightOf(part.row));
        const QRectF bar(left, bottom - thick, right - left, thick);
        painter.fillRect(bar, colour);
        if (before && before->y() != bar.center().y() && right > plot.left() && left < plot.right()) {
            painter.setPen(QPen(colour, 1));
            painter.drawLine(*before, QPointF(before->x(), bar.center().y()));
            painter.drawLine(QPointF(before->x(), bar.center().y()), QPointF(left, bar.center().y()));
        }
        before = QPointF(right, bar.center().y());
    }
    painter.restore();
}

} // namespace tilescope::ui
