#include "ui/plots/chart_plot.h"

#include "ui/plots/number_text.h"
#include "ui/plots/plot_vectors.h"
#include "ui/plots/themed_plot.h"
#include "ui/theme/theme.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

const QColor kInk(0x1B, 0x20, 0x26);
const QColor kGrid(0xE6, 0xE8, 0xEB);
constexpr double kText = 8; // points

// Apart for colour-blind readers and, with their markers, in grey.
constexpr QRgb kSeries[] = {0xFF1B2026, 0xFF8F5F00, 0xFF0072B2, 0xFFC44A00,
                            0xFF00785A, 0xFF9A3F86, 0xFF59626D, 0xFF5B7C00};
constexpr QCPScatterStyle::ScatterShape kShapes[] = {QCPScatterStyle::ssDisc,
                                                     QCPScatterStyle::ssSquare,
                                                     QCPScatterStyle::ssDiamond,
                                                     QCPScatterStyle::ssTriangle,
                                                     QCPScatterStyle::ssTriangleInverted,
                                                     QCPScatterStyle::ssPlus,
                                                     QCPScatterStyle::ssCircle,
                                                     QCPScatterStyle::ssCross};

QFont paperFont(bool bold = false)
{
    QFont font = Theme::instance().body();
    font.setPointSizeF(kText);
    font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
    return font;
}

} // namespace

QColor ChartPlot::colourOf(std::size_t series)
{
    return QColor(kSeries[series % std::size(kSeries)]);
}

QCPScatterStyle::ScatterShape ChartPlot::shapeOf(std::size_t series)
{
    return kShapes[series % std::size(kShapes)];
}

QSize ChartPlot::paperSize(const ChartRecipe& recipe)
{
    const double width = (recipe.oneColumn ? 3.25 : 6.75) * 96;
    return {int(width), int(width * (recipe.oneColumn ? 0.72 : 0.58))};
}

ChartPlot::ChartPlot(QWidget* parent) : QCustomPlot(parent)
{
    setAccessibleName(tr("Chart"));
    setBackground(QBrush(Qt::white));
    axisRect()->setupFullAxesBox(false);
    xAxis2->setVisible(false);
    yAxis2->setVisible(false);
    plotLayout()->insertRow(0);
    title_ = new QCPTextElement(this);
    plotLayout()->addElement(0, 0, title_);
}

void ChartPlot::setAxis(QCPAxis& axis, const QString& title, bool logarithmic)
{
    axis.setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    if (logarithmic)
        axis.setTicker(QSharedPointer<PowerTicker>::create(&axis == xAxis ? 2.0 : 10.0));
    else
        axis.setTicker(QSharedPointer<NumberTicker>::create());
    axis.setLabel(title);
    axis.setLabelFont(paperFont());
    axis.setTickLabelFont(paperFont());
    for (const auto& set : {&QCPAxis::setLabelColor, &QCPAxis::setTickLabelColor})
        (axis.*set)(kInk);
    axis.setBasePen(QPen(kInk, 0.8));
    axis.setTickPen(QPen(kInk, 0.8));
    axis.setSubTickPen(QPen(kInk, 0.5));
    axis.setTickLengthIn(0);
    axis.setTickLengthOut(4);
    axis.setSubTickLengthIn(0);
    axis.setSubTickLengthOut(2);
    axis.grid()->setPen(&axis == yAxis ? QPen(kGrid, 0.7) : QPen(Qt::NoPen));
    axis.grid()->setZeroLinePen(Qt::NoPen);
}

void ChartPlot::addText(double x, double y, const QString& text, const QColor& colour,
                        Qt::Alignment alignment, bool bold)
{
    auto* item = new QCPItemText(this);
    item->setClipToAxisRect(false);
    item->setPositionAlignment(alignment);
    item->position->setType(QCPItemPosition::ptPlotCoords);
    item->position->setCoords(x, y);
    item->setText(text);
    item->setFont(paperFont(bold));
    item->setColor(colour);
    item->setPadding(QMargins(6, 1, 4, 1));
}

void ChartPlot::addFit(const ChartSeries& series, const QColor& colour, const Chart& chart,
                       const ChartRecipe& recipe)
{
    if (!series.fit)
        return;
    const double from = series.fit->fromX;
    const double to = series.points.back().x;
    QVector<double> x;
    QVector<double> y;
    constexpr int kPieces = 40;
    for (int i = 0; i <= kPieces; ++i) {
        const double share = double(i) / kPieces;
        x << (recipe.logX && from > 0 ? from * std::pow(to / from, share) : from + share * (to - from));
        y << series.fit->at(x.back());
    }
    QCPGraph* line = addGraph();
    line->setPen(QPen(colour, 0.8, Qt::DashLine));
    line->setData(x, y, true);
    const int middle = kPieces / 4; // the end belongs to the series' name
    addText(x[middle], y[middle],
            series.fit->formula(recipe.x == QLatin1String("seq_len") ? QStringLiteral("N") : recipe.x,
                                chart.unit),
            colour, Qt::AlignLeft | Qt::AlignTop, false);
}

void ChartPlot::addSeries(const ChartSeries& series, std::size_t at, const Chart& chart,
                          const ChartRecipe& recipe)
{
    if (series.points.empty())
        return;
    const QColor colour = colourOf(at);
    addFit(series, colour, chart, recipe);
    QCPGraph* graph = addGraph();
    graph->setPen(QPen(colour, 1.2));
    graph->setScatterStyle(QCPScatterStyle(shapeOf(at), QPen(colour, 1), QBrush(colour), 5.5));
    auto* bars = new QCPErrorBars(xAxis, yAxis);
    bars->setDataPlottable(graph);
    bars->setPen(QPen(colour, 0.8));
    bars->setWhiskerWidth(4);
    for (const ChartPoint& point : series.points) {
        graph->addData(point.x, point.y);
        bars->addData(point.low ? point.y - *point.low : 0, point.high ? *point.high - point.y : 0);
    }
    const ChartPoint& last = series.points.back();
    addText(last.x, last.y, series.name, colour, Qt::AlignLeft | Qt::AlignVCenter, true);
}

// What did not fit into memory has no y: an open marker at the upper edge.
void ChartPlot::addOutOfMemory(const Chart& chart)
{
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const ChartSeries& series = chart.series[i];
        if (series.outOfMemory.empty())
            continue;
        QCPGraph* graph = addGraph();
        graph->setLineStyle(QCPGraph::lsNone);
        graph->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssTriangle, QPen(colourOf(i), 1), QBrush(Qt::white), 7));
        const double top = yAxis->range().upper;
        double first = series.outOfMemory.front();
        for (const double x : series.outOfMemory) {
            graph->addData(x, top);
            first = std::min(first, x);
        }
        graph->setAdaptiveSampling(false);
        addText(first, top,
                series.name.isEmpty() ? QStringLiteral("OOM") : QStringLiteral("OOM, ") + series.name,
                colourOf(i), Qt::AlignRight | Qt::AlignVCenter, true);
    }
}

void ChartPlot::setRanges(const Chart& chart, const ChartRecipe& recipe)
{
    double lowX = 1e300, highX = -1e300, lowY = 1e300, highY = -1e300;
    for (const ChartSeries& series : chart.series) {
        for (const double x : series.outOfMemory) {
            lowX = std::min(lowX, x);
            highX = std::max(highX, x);
        }
        for (const ChartPoint& point : series.points) {
            lowX = std::min(lowX, point.x);
            highX = std::max(highX, point.x);
            lowY = std::min(lowY, recipe.logY ? point.y : std::min(point.y, point.low.value_or(point.y)));
            highY = std::max(highY, point.high.value_or(point.y));
        }
    }
    if (lowX > highX)
        return;
    if (lowY > highY)
        lowY = highY = 1;
    if (recipe.logX && lowX > 0)
        xAxis->setRange(lowX / 1.25, highX * 1.25);
    else
        xAxis->setRange(lowX - 0.06 * (highX - lowX + 1e-9), highX + 0.06 * (highX - lowX + 1e-9));
    if (recipe.logY && lowY > 0)
        yAxis->setRange(lowY / 1.8, highY * 2.2);
    else
        yAxis->setRange(std::min(0.0, lowY), 1.12 * highY);
}

void ChartPlot::show(const Chart& chart, const ChartRecipe& recipe)
{
    clearPlottables();
    clearItems();
    setAxis(*xAxis, chart.xTitle, recipe.logX);
    setAxis(*yAxis, chart.yTitle, recipe.logY);
    // Names of lines stand behind their last points.
    int longest = 0;
    const QFontMetrics metrics(paperFont(true));
    for (const ChartSeries& series : chart.series)
        longest = std::max(longest, metrics.horizontalAdvance(series.name));
    axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom | QCP::msTop);
    axisRect()->setMinimumMargins(QMargins(8, 12, 8, 6));
    axisRect()->setMargins(QMargins(0, 0, longest, 0));
    title_->setText(recipe.title);
    title_->setFont(paperFont(true));
    title_->setTextColor(kInk);
    title_->setVisible(!recipe.title.isEmpty());
    setRanges(chart, recipe);
    for (std::size_t i = 0; i < chart.series.size(); ++i)
        addSeries(chart.series[i], i, chart, recipe);
    addOutOfMemory(chart);
    replot();
}

void ChartPlot::drawVectors(QPainter& painter, const QSize& size)
{
    drawPlot(*this, painter, size);
}

} // namespace tilescope::ui
