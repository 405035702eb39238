// Places the texts of a figure: names of lines, labels of points and formulas.

#include "ui/charts/chart_plot.h"
#include "ui/kit/label_places.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

// The obstacles that names must not cover: markers, error bars, lines, and texts with fixed places.
void ChartPlot::takePlaces(LabelPlaces& places) const
{
    const double marker = points(5.5);
    for (std::size_t i = 0; i < panels_.size(); ++i) {
        const QCPAxis& x = *panels_[i]->axis(QCPAxis::atBottom);
        const QCPAxis& y = *panels_[i]->axis(QCPAxis::atLeft);
        for (const ChartSeries& series : chart_.series) {
            if (series.facet != chart_.facets.value(qsizetype(i)))
                continue;
            for (const ChartPoint& point : series.points) {
                const QPointF at(x.coordToPixel(point.x), y.coordToPixel(point.y));
                places.take(QRectF(at - QPointF(marker, marker) / 2, QSizeF(marker, marker)));
                const double lowest = y.range().lower;
                places.avoid({QPointF(at.x(), y.coordToPixel(std::max(point.low.value_or(point.y), lowest))),
                              QPointF(at.x(), y.coordToPixel(point.high.value_or(point.y)))});
            }
        }
    }
    for (int i = 0; i < graphCount(); ++i) {
        QPolygonF line;
        for (const QCPGraphData& point : *graph(i)->data())
            line << graph(i)->coordsToPixels(point.key, point.value);
        if (graph(i)->lineStyle() != QCPGraph::lsNone)
            places.avoid(line);
        else // markers of runs that were out of memory
            for (const QPointF at : line)
                places.take(QRectF(at - QPointF(marker, marker) / 2, QSizeF(marker, marker)));
    }
    const auto isPlacedLater = [](const std::vector<Label>& labels, const QCPItemText* words) {
        return std::ranges::any_of(labels, [words](const Label& label) { return label.item == words; });
    };
    for (int i = 0; i < itemCount(); ++i) {
        const auto* words = qobject_cast<const QCPItemText*>(item(i));
        if (words == nullptr || isPlacedLater(names_, words) || isPlacedLater(pointLabels_, words))
            continue;
        const QPolygonF corners{words->topLeft->pixelPosition(), words->topRight->pixelPosition(),
                                words->bottomRight->pixelPosition(), words->bottomLeft->pixelPosition(),
                                words->topLeft->pixelPosition()};
        if (words->rotation() == 0)
            places.take(corners.boundingRect());
        else
            places.avoid(corners);
    }
}

// Formulas run along their lines, below them, and end before the lines' names.
void ChartPlot::turnFormulas()
{
    for (const Formula& formula : formulas_) {
        QCPAxis& x = *formula.panel->axis(QCPAxis::atBottom);
        QCPAxis& y = *formula.panel->axis(QCPAxis::atLeft);
        const QPointF start(x.coordToPixel(formula.x[0]), y.coordToPixel(formula.y[0]));
        const QPointF line = QPointF(x.coordToPixel(formula.x[1]), y.coordToPixel(formula.y[1])) - start;
        const double length = std::hypot(line.x(), line.y());
        if (length < 1)
            continue;
        const double half = QFontMetricsF(font()).horizontalAdvance(formula.item->text()) / 2;
        const double along = std::min(0.45 * length, length - half - points(12));
        const QPointF centre = start + line * (along / length);
        formula.item->position->setCoords(x.pixelToCoord(centre.x()), y.pixelToCoord(centre.y()));
        formula.item->setRotation(std::atan2(line.y(), line.x()) * 180 / M_PI);
    }
}

// Behind the last points of their lines, otherwise near them; in the order of the lines. False if one of them would
// lie on a line.
bool ChartPlot::placeNames(LabelPlaces& places)
{
    std::sort(names_.begin(), names_.end(), [](const Label& a, const Label& b) { return a.y > b.y; });
    const QFontMetricsF metrics(font(true));
    bool areFree = true;
    for (const Label& label : names_) {
        const QPointF point(label.panel->axis(QCPAxis::atBottom)->coordToPixel(label.x),
                            label.panel->axis(QCPAxis::atLeft)->coordToPixel(label.y));
        const QSizeF size(metrics.horizontalAdvance(label.item->text()) + points(2), metrics.height());
        constexpr int kSteps = 6; // of half a line, up and down
        const QPointF behind = point + QPointF(points(5), -size.height() / 2);
        std::vector<QRectF> wanted{{behind, size}};
        for (int step = 1; step <= kSteps; ++step)
            for (const double sign : {1.0, -1.0})
                wanted.emplace_back(behind + QPointF(0, sign * step * size.height() / 2), size);
        std::ranges::copy(places.around(point, size, points(4)), std::back_inserter(wanted));
        const auto place = places.place(wanted);
        areFree = areFree && place && !place->isOnLine;
        label.item->setPadding({});
        label.item->setPositionAlignment(Qt::AlignCenter);
        label.item->position->setType(QCPItemPosition::ptAbsolute);
        label.item->position->setCoords((place ? place->rect : wanted.front()).center());
    }
    return areFree;
}

// Labels of points at nearly the same place are merged; the rest move up or down until no labels overlap.
void ChartPlot::partPointLabels(const LabelPlaces& places)
{
    const QFontMetricsF metrics(font());
    const double same = points(8);
    const double marker = points(5);
    const double beside = points(2.5); // the error bar
    struct Placed {
        Label* label;
        QPointF point;
        QRectF rect;
    };
    std::vector<Placed> placed;
    // `line` 1, 2, … above the point, -1, -2, … below it.
    const auto rectOf = [&](const QString& text, QPointF point, int line) {
        const double height = metrics.height();
        const QSizeF size(metrics.horizontalAdvance(text) + points(3), height);
        const double top = line > 0 ? -marker - height * line : marker + height * (-line - 1);
        return QRectF({point.x() + beside, point.y() + top}, size);
    };
    const auto isFree = [&](const QRectF& rect) {
        return places.isFree(rect) &&
               std::none_of(placed.begin(), placed.end(),
                            [&rect](const Placed& other) { return other.rect.intersects(rect); });
    };
    for (Label& label : pointLabels_) {
        const QPointF point(label.panel->axis(QCPAxis::atBottom)->coordToPixel(label.x),
                            label.panel->axis(QCPAxis::atLeft)->coordToPixel(label.y));
        const auto near = std::find_if(placed.begin(), placed.end(), [&](const Placed& other) {
            return std::hypot(other.point.x() - point.x(), other.point.y() - point.y()) < same;
        });
        if (near != placed.end()) {
            QCPItemText& text = *near->label->item;
            text.setText(text.text() + QStringLiteral(", ") + label.item->text());
            label.item->setVisible(false);
            near->rect.setWidth(metrics.horizontalAdvance(text.text()) + points(3));
            text.position->setCoords(near->rect.center());
            continue;
        }
        QRectF rect = rectOf(label.item->text(), point, 1);
        for (const int line : {-1, 2, -2, 3, -3}) {
            if (isFree(rect))
                break;
            rect = rectOf(label.item->text(), point, line);
        }
        label.item->setPositionAlignment(Qt::AlignCenter);
        label.item->position->setType(QCPItemPosition::ptAbsolute);
        label.item->position->setCoords(rect.center());
        placed.push_back({&label, point, rect});
    }
}

} // namespace tilescope::ui
