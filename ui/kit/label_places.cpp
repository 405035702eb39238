#include "ui/kit/label_places.h"

#include <QLineF>
#include <QPainter>

#include <algorithm>

namespace tilescope::ui {

namespace {

bool crosses(const QRectF& rect, QPointF from, QPointF to)
{
    if (std::max(from.x(), to.x()) < rect.left() || std::min(from.x(), to.x()) > rect.right() ||
        std::max(from.y(), to.y()) < rect.top() || std::min(from.y(), to.y()) > rect.bottom())
        return false;
    if (rect.contains(from) || rect.contains(to))
        return true;
    const QLineF line(from, to);
    const QLineF sides[] = {{rect.topLeft(), rect.topRight()},
                            {rect.topRight(), rect.bottomRight()},
                            {rect.bottomRight(), rect.bottomLeft()},
                            {rect.bottomLeft(), rect.topLeft()}};
    return std::ranges::any_of(sides, [&line](const QLineF& side) {
        return line.intersects(side, nullptr) == QLineF::BoundedIntersection;
    });
}

} // namespace

void LabelPlaces::avoid(const QPolygonF& line)
{
    lines_.push_back(line);
}

bool LabelPlaces::isFree(const QRectF& rect) const
{
    return area_.contains(rect) &&
           std::ranges::none_of(taken_, [&rect](const QRectF& other) { return other.intersects(rect); });
}

bool LabelPlaces::isOnLine(const QRectF& rect) const
{
    return std::ranges::any_of(lines_, [&rect](const QPolygonF& line) {
        for (qsizetype i = 1; i < line.size(); ++i)
            if (crosses(rect, line[i - 1], line[i]))
                return true;
        return false;
    });
}

std::optional<LabelPlaces::Place> LabelPlaces::place(std::span<const QRectF> wanted)
{
    std::optional<Place> best;
    for (const QRectF& rect : wanted) {
        if (!isFree(rect))
            continue;
        const bool onLine = isOnLine(rect);
        if (!best || !onLine)
            best = Place{rect, onLine};
        if (!onLine)
            break;
    }
    if (best)
        take(best->rect);
    return best;
}

std::vector<QRectF> LabelPlaces::around(QPointF point, const QSizeF& size, double away) const
{
    const double w = size.width();
    const double h = size.height();
    std::vector<QRectF> rects;
    const auto add = [&](double x, double y) { rects.emplace_back(point + QPointF(x, y), size); };
    const auto addInside = [&](double x, double y) {
        add(std::clamp(x, area_.left() - point.x(), std::max(area_.left(), area_.right() - w) - point.x()),
            y);
    };
    constexpr int kRows = 3; // lines of text between the point and its label
    for (int row = 0; row < kRows; ++row) {
        const double above = -away - (row + 1) * h;
        const double below = away + row * h;
        for (const double x : {-w / 2, 0.0, -w})
            addInside(x, above);
        add(away, above);
        add(-away - w, above);
        add(away + row * h, -h / 2);
        add(-away - row * h - w, -h / 2);
        for (const double x : {-w / 2, 0.0, -w})
            addInside(x, below);
    }
    return rects;
}

void drawBehind(QPainter& painter, double x, double top, double bottom, std::span<const QRectF> labels)
{
    std::vector<std::pair<double, double>> gaps;
    for (const QRectF& label : labels)
        if (label.left() <= x && x <= label.right() && label.bottom() > top && label.top() < bottom)
            gaps.emplace_back(label.top(), label.bottom());
    std::ranges::sort(gaps);
    double from = top;
    for (const auto& [begin, end] : gaps) {
        if (begin > from)
            painter.drawLine(QPointF(x, from), QPointF(x, begin));
        from = std::max(from, end);
    }
    if (from < bottom)
        painter.drawLine(QPointF(x, from), QPointF(x, bottom));
}

} // namespace tilescope::ui
