#include "ui/timeline/difference_band.h"

#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tilescope::ui {

using query::Hue;

namespace {

constexpr double kNarrowest = 6; // pixels, of the wider side
constexpr int kPhase = 2;

bool isAttention(Hue hue)
{
    return hue == Hue::RangeAttention;
}

struct Candidate {
    DifferenceShape shape;
    double left, right; // of its visible part at half the height
    QString text;
};

// A label is drawn whole or not at all: as near to the middle of the visible shape as other labels and
// the edges allow.
void placeLabel(Candidate& candidate, std::vector<std::pair<double, double>>& taken, const QRectF& area,
                double textWidth)
{
    constexpr double kOutside = 1.25; // of its shape, at most that wide
    const double needed = textWidth + sizes().of(8);
    const double middle = (candidate.left + candidate.right) / 2;
    if (needed > kOutside * (candidate.right - candidate.left) || needed > area.width())
        return;
    std::vector<double> lefts{middle - needed / 2};
    for (const auto& [from, to] : taken) {
        lefts.push_back(to);
        lefts.push_back(from - needed);
    }
    std::optional<double> best;
    for (double left : lefts) {
        left = std::clamp(left, area.left(), area.right() - needed);
        const bool isFree = std::none_of(taken.begin(), taken.end(), [&](const auto& other) {
            return left < other.second - 0.5 && left + needed > other.first + 0.5;
        });
        const double centre = left + needed / 2;
        const bool isOnShape = centre >= candidate.left && centre <= candidate.right;
        if (isFree && isOnShape && (!best || std::abs(centre - middle) < std::abs(*best - middle)))
            best = centre;
    }
    if (!best)
        return;
    candidate.shape.text = candidate.text;
    candidate.shape.centre = {*best, area.center().y()};
    taken.emplace_back(*best - needed / 2, *best + needed / 2);
}

} // namespace

std::vector<DifferenceShape> differenceShapes(const std::vector<RangePair>& pairs,
                                              const TimelineSection& above, const TimelineSection& below,
                                              const std::function<double(double)>& xOf, const QRectF& area,
                                              const std::function<double(const QString&)>& widthOf)
{
    std::vector<Candidate> candidates;
    for (const RangePair& pair : pairs) {
        if (pair.depth != kPhase && !isAttention(pair.hue))
            continue;
        // Only the step at which the runs are aligned, because other steps drift apart.
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
        const query::Timeline& timeline = *above.timeline;
        const query::Track& row = timeline.lanes[pair.a.lane].rows[pair.a.row];
        const QString name = QString::fromStdString(timeline.names[row.name(pair.a.index)].label);
        candidates.push_back({std::move(shape), std::clamp((a + d) / 2, area.left(), area.right()),
                              std::clamp((b + c) / 2, area.left(), area.right()),
                              name + QLatin1Char(' ') + signedTimeText(double(pair.difference()))});
    }
    // Ranges of attention are drawn over phases.
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
        return !isAttention(x.shape.hue) && isAttention(y.shape.hue);
    });
    std::vector<DifferenceShape> shapes;
    std::vector<std::pair<double, double>> taken;
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate)
        placeLabel(*candidate, taken, area, widthOf(candidate->text));
    for (Candidate& candidate : candidates)
        shapes.push_back(std::move(candidate.shape));
    return shapes;
}

void paintDifference(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area)
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
        return painter.restore(); // they are still being computed
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
        painter.drawText(QRectF(shape.centre.x() - width / 2, plot.top(), width, plot.height()),
                         Qt::AlignCenter | Qt::TextDontClip, shape.text);
    }
    painter.restore();
}

} // namespace tilescope::ui
