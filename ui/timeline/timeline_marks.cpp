#include "ui/timeline/timeline_marks.h"

#include "ui/kit/label_places.h"
#include "ui/theme/theme.h"
#include "ui/timeline/link_lines.h"
#include "ui/timeline/path_marks.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Track;

namespace {

constexpr float kBandShare = 0.2F; ///< opacity of the bands of a collective

struct Extent {
    int top = 0;
    int bottom = 0;
};

// From a section's header to the end of its lanes, in the view, without pinned lanes.
Extent extentOf(const TimelineScene& scene, std::size_t section, const QRect& plot)
{
    Extent extent{plot.bottom(), plot.top()};
    for (const Band& band : scene.layout.bands) {
        if (band.section != section || band.kind == Band::Kind::Difference || band.isPinned)
            continue;
        extent.top = std::min(extent.top, plot.top() + scene.topOf(band));
        extent.bottom = std::max(extent.bottom, plot.top() + scene.topOf(band) + band.height);
    }
    extent.top = std::max(extent.top, plot.top() + scene.layout.pinnedHeight);
    return extent;
}

// Calls `fill` for the lanes of each section, or of each process, which has steps of its own.
template <class Fill>
void eachExtent(const TimelineScene& scene, const QRect& plot, bool inPinned, const Fill& fill)
{
    for (std::size_t s = 0; s < scene.sections.size(); ++s) {
        const TimelineSection& section = scene.sections[s];
        if (section.timeline->processes.empty() && !inPinned) {
            fill(section, {}, extentOf(scene, s, QRect(QPoint(0, 0), plot.size())));
            continue;
        }
        // Each process has steps of its own, in its lanes.
        for (const Band& band : scene.layout.bands) {
            if (band.section != s || band.kind != Band::Kind::Lane || band.isPinned != inPinned)
                continue;
            const int top = scene.topOf(band);
            const query::Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
            fill(section, lane.process, {top, top + band.height + scene.sizes.gap});
        }
    }
}

// The part of the plot where a lane is seen.
QRect openTo(const Band& lane, const TimelineScene& scene, const QRect& plot)
{
    const int from = lane.isPinned ? 0 : scene.layout.coveredHeight();
    const int to = lane.isPinned ? scene.layout.pinnedHeight : plot.height();
    return {plot.left(), plot.top() + from, plot.width(), std::max(0, to - from)};
}

void paintVeil(QPainter& painter, const QRectF& area, std::span<const QRectF> names)
{
    const Palette& p = colours();
    QColor veil = p.accent;
    veil.setAlphaF(p.dark ? 0.20 : 0.12);
    painter.fillRect(area, veil);
    painter.setPen(p.accent);
    for (const double x : {area.left(), area.right()})
        drawBehind(painter, x, area.top(), area.bottom(), names);
}

// A flag; its pole is at the moment.
QPainterPath flagAt(double x, double top, double size)
{
    QPainterPath flag(QPointF(x, top));
    flag.lineTo(x + size, top);
    flag.lineTo(x + size * 0.7, top + size * 0.5);
    flag.lineTo(x + size, top + size);
    flag.lineTo(x, top + size);
    flag.closeSubpath();
    return flag;
}

void paintArrowHead(QPainter& painter, QPointF from, QPointF to, double size)
{
    const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
    if (length < size)
        return;
    const QPointF along = (to - from) / length;
    const QPointF across(-along.y(), along.x());
    const QPointF base = to - along * size;
    const QPointF head[] = {to, base + across * (size * 0.45), base - across * (size * 0.45)};
    painter.drawPolygon(head, 3);
}

void paintRings(QPainter& painter, const TimelineScene& scene, const BoxSet& boxes, const QColor& colour,
                int width, int height)
{
    const QRect plot = scene.plot(width, height);
    painter.setPen(colour);
    painter.setBrush(Qt::NoBrush);
    for (const Band& band : scene.layout.bands) {
        const int top = plot.top() + scene.topOf(band);
        if (band.kind != Band::Kind::Lane || !scene.isSeen(band, plot.height()))
            continue;
        painter.setClipRect(openTo(band, scene, plot));
        const TimelineSection& section = scene.sections[band.section];
        const std::size_t lane = section.lanes[band.view].lane;
        const std::vector<Track>& rows = section.timeline->lanes[lane].rows;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto indices = boxes.of(band.section, lane, row);
            if (indices.empty())
                continue;
            const double y = top + (band.rowTop(row) - band.top) + 0.5;
            for (const Ring& ring : ringsOf(rows[row], indices, section.toTimeline(scene.window.from),
                                            scene.perPixel(width) / section.stretch, plot.width())) {
                const double left = std::floor(plot.left() + std::max(ring.from, -4.0)) + 0.5;
                const double right =
                    std::max(left + 2, std::ceil(plot.left() + std::min(ring.to, plot.width() + 4.0)) - 0.5);
                painter.drawRect(QRectF(left, y, right - left, std::max(2, band.heightOf(row) - 2)));
            }
        }
    }
}

void paintLinks(QPainter& painter, const TimelineScene& scene, const std::vector<SceneLink>& launches,
                const std::vector<SceneLink>& links, int width, int height)
{
    const Palette& p = colours();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QColor band = p.hue(query::Hue::Collective);
    painter.setPen(QPen(band, 1));
    band.setAlphaF(kBandShare);
    painter.setBrush(band);
    for (const QPolygonF& each : collectiveBands(links, scene, width, height))
        painter.drawPolygon(each);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(p.strongLine, 1));
    for (const LinkLine& line : linkLines(launches, scene, width, height))
        painter.drawLine(line.from, line.to);
    const double head = sizes().of(8);
    for (const LinkLine& line : linkLines(links, scene, width, height)) {
        const bool autograd = line.kind == SceneLink::Kind::Autograd;
        QPen pen(autograd ? p.accent : p.text, 1.5);
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        QPointF before = line.from;
        if (autograd) {
            // Bowed, so that it does not run along a lane.
            const double bow = std::clamp(std::abs(line.to.x() - line.from.x()) / 4, 20.0, 120.0);
            QPainterPath path(line.from);
            const QPointF control((line.from.x() + line.to.x()) / 2, (line.from.y() + line.to.y()) / 2 + bow);
            path.quadTo(control, line.to);
            painter.drawPath(path);
            before = control;
        } else {
            painter.drawLine(line.from, line.to);
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(pen.color());
        paintArrowHead(painter, before, line.to, head);
    }
    painter.restore();
}

// Links among lanes that scroll do not cross what covers these.
void paintLinks(QPainter& painter, const TimelineScene& scene, const QRect& plot, int width, int height)
{
    const TimelineLayout& layout = scene.layout;
    const auto linksOf = [&](const std::vector<SceneLink>& links, bool toPinned) {
        std::vector<SceneLink> some;
        for (const SceneLink& link : links) {
            const Band* from = scene.bandOf(link.from);
            const Band* to = scene.bandOf(link.to);
            if (((from != nullptr && from->isPinned) || (to != nullptr && to->isPinned)) == toPinned)
                some.push_back(link);
        }
        return some;
    };
    painter.setClipRect(plot.adjusted(0, layout.coveredHeight(), 0, 0));
    if (layout.pinnedHeight == 0)
        return paintLinks(painter, scene, scene.launches, scene.links, width, height);
    paintLinks(painter, scene, linksOf(scene.launches, false), linksOf(scene.links, false), width, height);
    painter.setClipRect(plot);
    paintLinks(painter, scene, linksOf(scene.launches, true), linksOf(scene.links, true), width, height);
}

// The line up to which a run has been played, below its header.
QRectF playheadOf(const TimelineScene& scene, std::size_t section, int width, int height)
{
    const QRect plot = scene.plot(width, height);
    const Extent extent = extentOf(scene, section, plot);
    const int top = extent.top + scene.sizes.header;
    return {std::round(scene.xOf(scene.drawnTo(section), width)), double(top), double(sizes().of(2)),
            double(std::max(0, extent.bottom - top))};
}

} // namespace

void paintSpans(QPainter& painter, const TimelineScene& scene, int width, int height,
                std::span<const QRectF> names)
{
    const QRect plot = scene.plot(width, height);
    painter.save();
    painter.setClipRect(plot);
    if (scene.span) {
        const double left = scene.xOf(scene.span->from, width);
        const double right = scene.xOf(scene.span->to, width);
        paintVeil(painter, QRectF(left, plot.top(), right - left, plot.height()), names);
    }
    for (std::size_t s = 0; s < scene.selectedRange.size() && !scene.span; ++s) {
        if (!scene.selectedRange[s])
            continue;
        const Extent extent = extentOf(scene, s, plot);
        const double left = scene.xOf(scene.selectedRange[s]->from, width);
        const double right = scene.xOf(scene.selectedRange[s]->to, width);
        paintVeil(painter, QRectF(left, extent.top, right - left, extent.bottom - extent.top), names);
    }
    painter.restore();
}

void fillPhases(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio, bool inPinned)
{
    constexpr double kShare = 0.13; // of the colour of the type
    const int width = scene.sizes.label + plot.width();
    const Palette& p = colours();
    const auto colourOfPhase = [&p](StepType type) {
        return blend(p.hue(type == StepType::Prefill ? query::Hue(query::Hue::Matmul)
                                                     : query::Hue(query::Hue::Embedding)),
                     p.surface, kShare)
            .rgb();
    };
    const auto fill = [&](const TimelineSection& section, ProcessIndex process, const Extent& extent) {
        for (const TimelinePhase& phase : section.phases) {
            if (phase.type == StepType::Other || (process && phase.process && phase.process != process))
                continue;
            const double left = scene.xOf(section.toAxis(phase.start), width) - scene.sizes.label;
            const double right = scene.xOf(section.toAxis(phase.end), width) - scene.sizes.label;
            if (right < 0 || left > plot.width())
                continue;
            const int from = int(std::lround(std::max(0.0, left) * ratio));
            const int to = int(std::lround(std::min(double(plot.width()), right) * ratio));
            target.fill(from, std::max(from + 1, to), int(extent.top * ratio), int(extent.bottom * ratio),
                        colourOfPhase(phase.type));
        }
    };
    eachExtent(scene, plot, inPinned, fill);
}

void fillSteps(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio, bool inPinned)
{
    constexpr double kNarrowest = 24; // pixels a step
    const int width = scene.sizes.label + plot.width();
    const QRgb colour = colours().strongLine.rgb();
    const auto fill = [&](const TimelineSection& section, ProcessIndex process, const Extent& extent) {
        for (const query::TimelineStep& step : section.timeline->steps) {
            if (process && step.process && step.process != process)
                continue;
            const double left = scene.xOf(section.toAxis(double(step.start)), width) - scene.sizes.label;
            const double right = scene.xOf(section.toAxis(double(step.end)), width) - scene.sizes.label;
            if (right < 0 || left > plot.width() || right - left < kNarrowest)
                continue;
            for (const double edge : {left, right}) {
                if (edge < 0 || edge >= plot.width())
                    continue;
                const int x = int(std::lround(edge * ratio));
                target.fill(x, x + 1, int(extent.top * ratio), int(extent.bottom * ratio), colour);
            }
        }
    };
    eachExtent(scene, plot, inPinned, fill);
}

void paintSelection(QPainter& painter, const TimelineScene& scene, int width, int height)
{
    if (scene.play)
        return;
    const Palette& p = colours();
    const QRect plot = scene.plot(width, height);
    paintPath(painter, scene, width, height);
    painter.save();
    painter.setClipRect(plot);
    if (scene.instances)
        paintRings(painter, scene, *scene.instances, p.accent, width, height);
    if (scene.found)
        paintRings(painter, scene, *scene.found, p.text, width, height);
    paintLinks(painter, scene, plot, width, height);
    if (scene.selected) {
        const QRect rect = scene.rectOf(*scene.selected, width, height);
        if (const Band* band = scene.bandOf(*scene.selected); band != nullptr && !rect.isEmpty()) {
            painter.setClipRect(openTo(*band, scene, plot));
            painter.setPen(QPen(p.text, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(QRectF(rect).adjusted(-1, 0, 1, 0));
        }
    }
    painter.restore();
}

void paintPlayheads(QPainter& painter, const TimelineScene& scene, int width, int height)
{
    if (!scene.play)
        return;
    painter.save();
    painter.setClipRect(scene.plot(width, height));
    for (std::size_t s = 0; s < scene.sections.size(); ++s)
        if (scene.play->ends[s] > 0)
            painter.fillRect(playheadOf(scene, s, width, height),
                             scene.play->hasEnded(s) ? colours().strongLine : colours().accent);
    painter.restore();
}

void paintNotes(QPainter& painter, const TimelineScene& scene, int width, int height,
                std::span<const QRectF> names)
{
    const Palette& p = colours();
    const QRect plot = scene.plot(width, height);
    const QRect ruler = scene.ruler(width);
    painter.save();
    painter.setClipRect(plot.united(QRect(plot.left(), ruler.top(), plot.width(), ruler.height())));
    const double size = sizes().of(9);
    for (const SceneNote& note : scene.notes) {
        const TimelineSection& section = scene.sections[note.section];
        const double x = std::round(scene.xOf(section.toAxis(double(note.at)), width)) + 0.5;
        if (x < plot.left() - 1 || x > plot.right())
            continue;
        const Extent extent = extentOf(scene, note.section, plot);
        painter.setPen(QPen(p.warning, 1, Qt::DashLine));
        drawBehind(painter, x, std::max(plot.top(), extent.top + scene.sizes.header),
                   std::max(plot.top(), extent.bottom), names);
        painter.setPen(p.warning);
        painter.drawLine(QPointF(x, ruler.bottom() - size - 1), QPointF(x, ruler.bottom()));
        painter.setRenderHint(QPainter::Antialiasing);
        painter.fillPath(flagAt(x, ruler.bottom() - size - 2, size), p.warning);
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
    painter.restore();
}

void paintLaneDrop(QPainter& painter, const TimelineScene& scene, int width, int height)
{
    if (!scene.laneDropAt)
        return;
    const QRect plot = scene.plot(width, height);
    const int y = plot.top() + *scene.laneDropAt;
    painter.fillRect(QRect(0, y - 1, scene.sizes.label + sizes().of(40), 3), colours().accent);
}

} // namespace tilescope::ui
