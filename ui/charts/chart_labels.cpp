// Where the words of a chart stand, once its axes are laid out.

#include "ui/charts/chart_plot.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope::ui {

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

// Names whose lines end near each other step aside, in the order of their lines.
void ChartPlot::partLabels()
{
    std::sort(names_.begin(), names_.end(), [](const Label& a, const Label& b) { return a.y > b.y; });
    const double height = QFontMetricsF(font(true)).height();
    double lowest = -std::numeric_limits<double>::max();
    for (const Label& label : names_) {
        QCPAxis& y = *label.panel->axis(QCPAxis::atLeft);
        const double pixel = std::max(y.coordToPixel(label.y), lowest + height);
        lowest = pixel;
        label.item->position->setCoords(label.x, y.pixelToCoord(pixel));
    }
}

// Labels of points that lie all but on each other become one; others step away from their points, up and
// down, until they cover no other.
void ChartPlot::partPointLabels()
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
    const auto isFree = [&placed](const QRectF& rect) {
        return std::none_of(placed.begin(), placed.end(),
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
