#include "ui/charts/chart_sketch.h"

#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_ranges.h"
#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kMostPanels = 3;
const QColor kAxis(0x9A, 0xA3, 0xAD);

// Pixels of a panel for values of the axes.
class Scales {
public:
    Scales(const ChartRanges& ranges, const ChartRecipe& recipe, bool hasWords, const QRectF& area)
        : ranges_(ranges), area_(area),
          logX_(!hasWords && recipe.scaleOfX() != ChartRecipe::Axis::Linear && ranges.xLow > 0),
          logY_(recipe.yAxis != ChartRecipe::Axis::Linear && ranges.yLow > 0)
    {
    }

    QPointF at(double x, double y) const
    {
        return {area_.left() + share(x, ranges_.xLow, ranges_.xHigh, logX_) * area_.width(),
                area_.bottom() - share(y, ranges_.yLow, ranges_.yHigh, logY_) * area_.height()};
    }

private:
    static double share(double value, double low, double high, bool isLog)
    {
        if (high <= low)
            return 0.5;
        const double part = isLog ? std::log(std::max(value, low) / low) / std::log(high / low)
                                  : (value - low) / (high - low);
        return std::clamp(part, 0.0, 1.0);
    }

    ChartRanges ranges_;
    QRectF area_;
    bool logX_;
    bool logY_;
};

void drawSeries(QPainter& painter, const ChartSeries& series, const QColor& colour, const Scales& scales,
                const QRectF& area, const Chart& chart, const ChartRecipe& recipe)
{
    const double radius = sizes().of(1.6);
    QPolygonF line;
    for (const ChartPoint& point : series.points)
        line << scales.at(point.x, point.y);
    painter.setPen(QPen(colour, sizes().of(1.2)));
    painter.setBrush(Qt::NoBrush);
    if (chart.words.isEmpty()) // nothing lies between two words
        painter.drawPolyline(line);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    for (const QPointF& point : line)
        painter.drawEllipse(point, radius, radius);
    if (!recipe.outOfMemory)
        return;
    painter.setPen(QPen(colour, 1));
    painter.setBrush(Qt::white);
    for (const ChartPoint& point : series.outOfMemory) {
        const double x = scales.at(point.x, 0).x();
        const double side = 2 * radius;
        painter.drawPolygon(QPolygonF{
            {x, area.top()}, {x - side, area.top() + 1.6 * side}, {x + side, area.top() + 1.6 * side}});
    }
}

} // namespace

ChartSketch::ChartSketch(std::function<Drawn()> make, QWidget* parent)
    : QWidget(parent), make_(std::move(make))
{
    setAttribute(Qt::WA_TransparentForMouseEvents); // a click is one on the row
}

void ChartSketch::paintEvent(QPaintEvent*)
{
    if (!drawn_)
        drawn_ = make_();
    const auto& [chart, recipe] = *drawn_;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double inset = sizes().of(3);
    const QRectF paper = QRectF(rect()).adjusted(inset, inset, -inset, -inset);
    painter.setPen(QPen(colours().line, 1));
    painter.setBrush(Qt::white);
    painter.drawRoundedRect(paper, 2, 2);
    const std::optional<ChartRanges> ranges = rangesOf(chart, recipe);
    if (!ranges)
        return;
    const int panels = std::clamp(int(chart.facets.size()), 1, kMostPanels);
    const double gap = sizes().of(5);
    const double width = (paper.width() - gap * (panels + 1)) / panels;
    for (int i = 0; i < panels; ++i) {
        const QRectF area(paper.left() + gap + i * (width + gap), paper.top() + gap, width,
                          paper.height() - 2 * gap);
        painter.setPen(QPen(kAxis, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolyline(QPolygonF{area.topLeft(), area.bottomLeft(), area.bottomRight()});
        const Scales scales(*ranges, recipe, !chart.words.isEmpty(), area);
        for (const ChartSeries& series : chart.series)
            if (series.facet == chart.facets.value(i))
                drawSeries(painter, series,
                           ChartPlot::colourOf(recipe.palette, std::size_t(std::max<qsizetype>(
                                                                   0, chart.names.indexOf(series.name)))),
                           scales, area, chart, recipe);
    }
}

} // namespace tilescope::ui
