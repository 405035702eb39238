#include "ui/plots/difference_band.h"

#include "ui/plots/number_text.h"
#include "ui/plots/timeline_painter.h"
#include "ui/theme/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Hue;

namespace {

constexpr double kNarrowest = 6; // pixels, of the wider side
constexpr int kPhase = 2;

bool isAttention(Hue hue)
{
    return hue == Hue::RangeAttention;
}

} // namespace

std::vector<DifferenceShape> differenceShapes(const std::vector<RangePair>& pairs,
                                              const TimelineSection& above, const TimelineSection& below,
                                              const std::function<double(double)>& xOf, const QRectF& area,
                                              const std::function<double(const QString&)>& widthOf)
{
    struct Candidate {
        DifferenceShape shape;
        double width;
        QString text;
        QString name; ///< of the range
    };
    std::vector<Candidate> candidates;
    for (const RangePair& pair : pairs) {
        if (pair.depth != kPhase && !isAttention(pair.hue))
            continue;
        // Only the step that the runs are aligned at: further ones drift apart, and joining them tells
        // nothing.
        if (above.step && (pair.fromA < above.step->start || pair.fromA >= above.step->end))
            continue;
        const double a = xOf(above.toAxis(double(pair.fromA)));
        const double b = xOf(above.toAxis(double(pair.toA)));
        const double c = xOf(below.toAxis(double(pair.toB)));
        const double d = xOf(below.toAxis(double(pair.fromB)));
        if (std::max(b, c) < area.left() || std::min(a, d) > area.right() ||
            std::max(b - a, c - d) < kNarrowest)
            continue;
        DifferenceShape shape;
        shape.hue = pair.hue;
        shape.outline << QPointF(a, area.top()) << QPointF(b, area.top()) << QPointF(c, area.bottom())
                      << QPointF(d, area.bottom());
        shape.centre = {(std::clamp(a, area.left(), area.right()) + std::clamp(b, area.left(), area.right()) +
                         std::clamp(c, area.left(), area.right()) +
                         std::clamp(d, area.left(), area.right())) /
                            4,
                        area.center().y()};
        const query::Timeline& timeline = *above.timeline;
        const query::Track& row = timeline.lanes[pair.a.lane].rows[pair.a.row];
        candidates.push_back({std::move(shape), std::max(b - a, c - d),
                              signedTimeText(double(pair.difference())),
                              QString::fromStdString(timeline.names[row.name(pair.a.index)].label)});
    }
    // Phases lie behind, attention's ranges over them.
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
        return !isAttention(x.shape.hue) && isAttention(y.shape.hue);
    });
    std::vector<DifferenceShape> shapes;
    std::vector<QRectF> taken;
    const auto place = [&](Candidate& candidate, const QString& text, double share) {
        const double needed = widthOf(text) + sizes().of(8);
        const QRectF box(candidate.shape.centre.x() - needed / 2, area.top(), needed, area.height());
        const bool free = std::none_of(taken.begin(), taken.end(),
                                       [&box](const QRectF& other) { return other.intersects(box); });
        if (candidate.width < needed * share || !free)
            return false;
        candidate.shape.text = text;
        taken.push_back(box);
        return true;
    };
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate)
        place(*candidate, candidate->text, 0.9);
    // Their ranges' names too, where all differences are told and there is room left.
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
        if (candidate->shape.text.isEmpty())
            continue;
        const double centre = candidate->shape.centre.x();
        const auto own = std::find_if(taken.begin(), taken.end(), [centre](const QRectF& box) {
            return std::abs(box.center().x() - centre) < 0.5;
        });
        const QRectF before = *own;
        taken.erase(own);
        if (!place(*candidate, candidate->name + QLatin1Char(' ') + candidate->text, 1))
            taken.push_back(before);
    }
    for (Candidate& candidate : candidates)
        shapes.push_back(std::move(candidate.shape));
    return shapes;
}

void TimelinePainter::paintDifference(QPainter& painter, const TimelineScene& scene, const Band& band,
                                      const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& above = scene.sections[band.section - 1];
    const TimelineSection& below = scene.sections[band.section];
    painter.fillRect(QRect(area.left(), area.top(), area.width(), 1), p.line);
    painter.setFont(theme.body());
    painter.setPen(p.text);
    painter.drawText(QRect(sizes().of(28), area.top(), scene.sizes.label, area.height()),
                     Qt::AlignVCenter | Qt::AlignLeft, QStringLiteral("Difference"));
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    painter.drawText(QRect(0, area.top(), scene.sizes.label - sizes().of(10), area.height()),
                     Qt::AlignVCenter | Qt::AlignRight, below.letter + QStringLiteral(" − ") + above.letter);
    painter.save();
    const QRectF plot(scene.sizes.label, area.top() + 1, area.width() - scene.sizes.label, area.height() - 1);
    painter.setClipRect(plot, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetricsF metrics(theme.bold());
    if (band.section >= scene.pairs.size() || !scene.pairs[band.section])
        return painter.restore(); // they are still being found
    const std::vector<DifferenceShape> shapes = differenceShapes(
        *scene.pairs[band.section], above, below, [&](double axis) { return scene.xOf(axis, area.width()); },
        plot, [&](const QString& text) { return metrics.horizontalAdvance(text); });
    for (const DifferenceShape& shape : shapes) {
        const QColor colour = isAttention(shape.hue) ? p.hue(Hue::Attention) : p.dimText;
        QColor fill = colour;
        fill.setAlphaF(isAttention(shape.hue) ? 0.30 : 0.10);
        QColor edge = colour;
        edge.setAlphaF(isAttention(shape.hue) ? 0.9 : 0.4);
        painter.setPen(QPen(edge, 1));
        painter.setBrush(fill);
        painter.drawPolygon(shape.outline);
    }
    painter.setFont(theme.bold());
    painter.setPen(p.text);
    QColor veil = p.surface;
    veil.setAlphaF(0.7);
    for (const DifferenceShape& shape : shapes) {
        if (shape.text.isEmpty())
            continue;
        const double width = metrics.horizontalAdvance(shape.text) + sizes().of(6);
        painter.setPen(Qt::NoPen);
        painter.setBrush(veil);
        painter.drawRoundedRect(QRectF(shape.centre.x() - width / 2, shape.centre.y() - metrics.height() / 2,
                                       width, metrics.height()),
                                3, 3);
        painter.setPen(p.text);
        painter.drawText(QRectF(shape.centre.x() - 100, plot.top(), 200, plot.height()), Qt::AlignCenter,
                         shape.text);
    }
    painter.restore();
}

} // namespace tilescope::ui
