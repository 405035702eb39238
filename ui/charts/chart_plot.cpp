#include "ui/charts/chart_plot.h"

#include "ui/charts/chart_ranges.h"
#include "ui/kit/label_places.h"
#include "ui/kit/number_text.h"
#include "ui/kit/plot_vectors.h"
#include "ui/kit/themed_plot.h"
#include "ui/theme/theme.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

namespace tilescope::ui {

namespace {

const QColor kInk(0x1B, 0x20, 0x26);
const QColor kGrid(0xE6, 0xE8, 0xEB);
constexpr double kReferenceText = 8; // points: the text size to which lengths refer
constexpr double kPixelsPerInch = 96;
constexpr std::size_t kMostInRow = 3;
constexpr double kGreyStep = 0.07; // of lightness: smaller steps are indistinguishable in print

// Distinguishable for colour-blind readers and, with their markers, in grey.
constexpr QRgb kColourBlind[] = {0xFF1B2026, 0xFF8F5F00, 0xFF0072B2, 0xFFC44A00,
                                 0xFF00785A, 0xFF9A3F86, 0xFF59626D, 0xFF5B7C00};
// Okabe and Ito (2008), without yellow, which is invisible on white paper.
constexpr QRgb kOkabeIto[] = {0xFF000000, 0xFFE69F00, 0xFF56B4E9, 0xFF009E73,
                              0xFF0072B2, 0xFFD55E00, 0xFFCC79A7};
constexpr QRgb kGreys[] = {0xFF000000, 0xFF8C8C8C, 0xFF4D4D4D, 0xFFB3B3B3, 0xFF262626, 0xFF6E6E6E};

constexpr QCPScatterStyle::ScatterShape kShapes[] = {QCPScatterStyle::ssDisc,
                                                     QCPScatterStyle::ssSquare,
                                                     QCPScatterStyle::ssDiamond,
                                                     QCPScatterStyle::ssTriangle,
                                                     QCPScatterStyle::ssTriangleInverted,
                                                     QCPScatterStyle::ssPlus,
                                                     QCPScatterStyle::ssCircle,
                                                     QCPScatterStyle::ssCross};
constexpr Qt::PenStyle kDashes[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DotLine,
                                    Qt::DashDotDotLine};

std::span<const QRgb> coloursOf(ChartRecipe::Palette palette)
{
    switch (palette) {
    case ChartRecipe::Palette::ColourBlind:
        return kColourBlind;
    case ChartRecipe::Palette::OkabeIto:
        return kOkabeIto;
    case ChartRecipe::Palette::Grey:
        return kGreys;
    }
    return kColourBlind;
}

// Text on a translucent background, drawn above the plot lines.
class BackedText : public QCPItemText {
public:
    explicit BackedText(QCustomPlot* plot) : QCPItemText(plot) { setLayer(QStringLiteral("overlay")); }

protected:
    void draw(QCPPainter* painter) override
    {
        painter->save();
        painter->translate(position->pixelPosition());
        painter->rotate(rotation());
        painter->setFont(mainFont());
        QRect words =
            painter->fontMetrics().boundingRect(0, 0, 0, 0, Qt::TextDontClip | textAlignment(), text());
        const QMargins pad = padding();
        const QRectF box = words.marginsAdded(pad);
        words.moveTopLeft(getTextDrawPoint({0, 0}, box, positionAlignment()).toPoint() +
                          QPoint(pad.left(), pad.top()));
        painter->fillRect(words, kVeil);
        painter->restore();
        QCPItemText::draw(painter);
    }

private:
    inline static const QColor kVeil{255, 255, 255, 225};
};

bool isLogarithmic(ChartRecipe::Axis axis)
{
    return axis != ChartRecipe::Axis::Linear;
}

} // namespace

QColor ChartPlot::colourOf(ChartRecipe::Palette palette, std::size_t series)
{
    const std::span<const QRgb> known = coloursOf(palette);
    return QColor(known[series % known.size()]);
}

QCPScatterStyle::ScatterShape ChartPlot::shapeOf(std::size_t series)
{
    return kShapes[series % std::size(kShapes)];
}

bool ChartPlot::staysApartInGrey(ChartRecipe::Palette palette, std::size_t series)
{
    std::vector<double> greys;
    for (std::size_t i = 0; i < series; ++i)
        greys.push_back(qGray(colourOf(palette, i).rgb()) / 255.0);
    std::sort(greys.begin(), greys.end());
    for (std::size_t i = 1; i < greys.size(); ++i)
        if (greys[i] - greys[i - 1] < kGreyStep)
            return false;
    return true;
}

QSize ChartPlot::paperSize(const ChartRecipe& recipe)
{
    return {int(std::lround(recipe.paper.width * kPixelsPerInch)),
            int(std::lround(recipe.paper.height * kPixelsPerInch))};
}

ChartPlot::ChartPlot(QWidget* parent) : QCustomPlot(parent)
{
    setBackground(QBrush(Qt::white));
    plotLayout()->clear();
    setAttribute(Qt::WA_DontShowOnScreen);
    setViewport(QRect(0, 0, 1, 1)); // until show(): in Qt's default size its layers would take 3.7 MB
}

QFont ChartPlot::font(bool bold) const
{
    QFont font = Theme::instance().body();
    font.setPointSizeF(recipe_.paper.text);
    font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
    return font;
}

double ChartPlot::points(double at8) const
{
    return at8 * recipe_.paper.text / kReferenceText;
}

std::size_t ChartPlot::placeOf(const ChartSeries& series) const
{
    return std::size_t(std::max<qsizetype>(0, chart_.names.indexOf(series.name)));
}

QPen ChartPlot::penOf(std::size_t place) const
{
    QPen pen(colourOf(recipe_.palette, place), points(1.2));
    if (recipe_.dashes)
        pen.setStyle(kDashes[place % std::size(kDashes)]);
    return pen;
}

void ChartPlot::setAxis(QCPAxis& axis, const QString& title, ChartRecipe::Axis scale) const
{
    axis.setScaleType(isLogarithmic(scale) ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    if (isLogarithmic(scale))
        axis.setTicker(QSharedPointer<PowerTicker>::create(scale == ChartRecipe::Axis::Log2 ? 2.0 : 10.0));
    else
        axis.setTicker(QSharedPointer<NumberTicker>::create(axis));
    axis.setLabel(title);
    axis.setLabelFont(font());
    axis.setTickLabelFont(font());
    axis.setLabelColor(kInk);
    axis.setTickLabelColor(kInk);
    axis.setBasePen(QPen(kInk, points(0.8)));
    axis.setTickPen(QPen(kInk, points(0.8)));
    axis.setSubTickPen(QPen(kInk, points(0.5)));
    axis.setTickLengthIn(0);
    axis.setTickLengthOut(int(points(4)));
    axis.setSubTickLengthIn(0);
    axis.setSubTickLengthOut(int(points(2)));
    axis.grid()->setPen(recipe_.grid && axis.orientation() == Qt::Vertical ? QPen(kGrid, points(0.7))
                                                                           : QPen(Qt::NoPen));
    axis.grid()->setZeroLinePen(Qt::NoPen);
    axis.grid()->setVisible(recipe_.grid); // an added axis has no grid by default
}

QCPItemText* ChartPlot::addText(QCPAxisRect& panel, double x, double y, const QString& text,
                                const QColor& colour, Qt::Alignment alignment, bool bold)
{
    auto* item = new BackedText(this);
    item->setClipToAxisRect(false);
    item->setPositionAlignment(alignment);
    item->position->setType(QCPItemPosition::ptPlotCoords);
    item->position->setAxisRect(&panel);
    item->position->setAxes(panel.axis(QCPAxis::atBottom), panel.axis(QCPAxis::atLeft));
    item->position->setCoords(x, y);
    item->setText(text);
    item->setFont(font(bold));
    item->setColor(colour);
    item->setPadding(QMargins(int(points(6)), 1, int(points(4)), 1));
    return item;
}

void ChartPlot::addFit(const ChartSeries& series, QCPAxisRect& panel, const QPen& pen)
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
        x << (isLogarithmic(recipe_.scaleOfX()) && from > 0 ? from * std::pow(to / from, share)
                                                            : from + share * (to - from));
        y << series.fit->at(x.back());
    }
    QCPGraph* line = addGraph(panel.axis(QCPAxis::atBottom), panel.axis(QCPAxis::atLeft));
    line->setPen(QPen(pen.color(), points(0.7), Qt::DashLine));
    line->setData(x, y, true);
    line->setName(tr("fit of %1").arg(series.name));
    if (!recipe_.formula)
        return;
    // A law that does not fit the points is visible as such.
    constexpr double kFollowed = 0.95;
    QString law = series.fit->formula(chart_.xWord, chart_.unit);
    if (series.fit->r2 < kFollowed)
        law += tr(" (R² %1)").arg(series.fit->r2, 0, 'f', 2);
    QCPItemText* words =
        addText(panel, from, y.front(), law, pen.color(), Qt::AlignHCenter | Qt::AlignTop, false);
    formulas_.push_back({words, &panel, {from, to}, {y.front(), y.back()}});
}

void ChartPlot::addSeries(const ChartSeries& series, QCPAxisRect& panel)
{
    if (series.points.empty())
        return;
    const std::size_t place = placeOf(series);
    const QPen pen = penOf(place);
    addFit(series, panel, pen);
    QCPGraph* graph = addGraph(panel.axis(QCPAxis::atBottom), panel.axis(QCPAxis::atLeft));
    graph->setName(series.name);
    graph->setPen(chart_.words.isEmpty() ? pen : QPen(Qt::NoPen)); // nothing lies between two words
    graph->setScatterStyle(
        QCPScatterStyle(shapeOf(place), QPen(pen.color(), points(1)), QBrush(pen.color()), points(5.5)));
    auto* bars = new QCPErrorBars(panel.axis(QCPAxis::atBottom), panel.axis(QCPAxis::atLeft));
    bars->setDataPlottable(graph);
    bars->setPen(QPen(pen.color(), points(0.8)));
    bars->setWhiskerWidth(points(4));
    // On a logarithmic axis a bar down to zero ends at the axis.
    const double floor = panel.axis(QCPAxis::atLeft)->range().lower;
    for (const ChartPoint& point : series.points) {
        points_.push_back({{&series, &point}, &panel, point.y});
        graph->addData(point.x, point.y);
        const double low = std::max(point.low.value_or(point.y), std::min(floor, point.y));
        bars->addData(point.y - low, point.high ? *point.high - point.y : 0);
    }
    for (const ChartPoint& point : series.points)
        if (!point.label.isEmpty())
            pointLabels_.push_back({addText(panel, point.x, point.y, point.label, pen.color(),
                                            Qt::AlignHCenter | Qt::AlignBottom, false),
                                    &panel, point.x, point.y});
    if (hasLegend_ || panels_.size() > 1)
        return; // a legend names the lines of all panels
    const ChartPoint& last = series.points.back();
    names_.push_back(
        {addText(panel, last.x, last.y, series.name, pen.color(), Qt::AlignLeft | Qt::AlignVCenter, true),
         &panel, last.x, last.y});
}

// Runs out of memory have no y: open markers at the upper edge, those of one x below each other.
void ChartPlot::addOutOfMemory(QCPAxisRect& panel, const QString& facet)
{
    std::map<double, int> above; // markers at an x
    const QCPRange range = panel.axis(QCPAxis::atLeft)->range();
    const auto heightAt = [&](int place) {
        const double share = 0.97 - 0.05 * place; // whole markers, below the edge at which they are cut
        return isLogarithmic(recipe_.yAxis) ? range.lower * std::pow(range.upper / range.lower, share)
                                            : range.lower + share * range.size();
    };
    for (const ChartSeries& series : chart_.series) {
        if (series.facet != facet || series.outOfMemory.empty())
            continue;
        const QColor colour = colourOf(recipe_.palette, placeOf(series));
        QCPGraph* graph = addGraph(panel.axis(QCPAxis::atBottom), panel.axis(QCPAxis::atLeft));
        graph->setLineStyle(QCPGraph::lsNone);
        graph->setName(tr("%1, out of memory").arg(series.name));
        graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssTriangle, QPen(colour, points(1)),
                                               QBrush(Qt::white), points(7)));
        graph->setAdaptiveSampling(false);
        std::pair<double, double> first(std::numeric_limits<double>::max(), 0);
        for (const ChartPoint& point : series.outOfMemory) {
            const double y = heightAt(above[point.x]++);
            graph->addData(point.x, y);
            points_.push_back({{&series, &point, true}, &panel, y});
            first = std::min(first, std::pair(point.x, y));
        }
        addText(panel, first.first, first.second,
                series.name.isEmpty() || panels_.size() > 1 ? QStringLiteral("OOM")
                                                            : QStringLiteral("OOM, ") + series.name,
                colour, Qt::AlignRight | Qt::AlignVCenter, true)
            ->setPadding(QMargins(0, 1, int(points(8)), 1));
    }
}

// All panels have the same scales.
void ChartPlot::setRanges(QCPAxisRect& panel) const
{
    const std::optional<ChartRanges> ranges = rangesOf(chart_, recipe_);
    if (!ranges)
        return;
    panel.axis(QCPAxis::atBottom)->setRange(ranges->xLow, ranges->xHigh);
    panel.axis(QCPAxis::atLeft)->setRange(ranges->yLow, ranges->yHigh);
}

// The words at the positions of the x axis.
bool ChartPlot::setWordTicks(QCPAxis& axis) const
{
    if (chart_.words.isEmpty())
        return false;
    auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (qsizetype i = 0; i < chart_.words.size(); ++i)
        ticks->addTick(double(i), chart_.words[i]);
    axis.setTicker(ticks);
    return true;
}

// If x has only a few values, they are the ticks.
void ChartPlot::setFewTicks(QCPAxis& axis) const
{
    constexpr std::size_t kFew = 3;
    std::set<double> values;
    for (const ChartSeries& series : chart_.series) {
        for (const ChartPoint& point : series.points)
            values.insert(point.x);
        for (const ChartPoint& point : series.outOfMemory)
            values.insert(point.x);
    }
    if (values.empty() || values.size() > kFew)
        return;
    auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (const double value : values)
        ticks->addTick(value,
                       value == std::floor(value) ? wholeNumber(std::int64_t(value)) : threeDigits(value));
    axis.setTicker(ticks);
}

QCPAxisRect* ChartPlot::addPanel(QCPLayoutGrid& grid, int row, int column, bool lowest, const QString& facet)
{
    auto* panel = new QCPAxisRect(this, false);
    grid.addElement(row, column, panel);
    QCPAxis* x = panel->addAxis(QCPAxis::atBottom);
    QCPAxis* y = panel->addAxis(QCPAxis::atLeft);
    for (QCPAxis* axis : {x, y}) {
        axis->setLayer(QStringLiteral("axes"));
        axis->grid()->setLayer(QStringLiteral("grid"));
    }
    setAxis(*x, lowest ? chart_.xTitle : QString(),
            chart_.words.isEmpty() ? recipe_.scaleOfX() : ChartRecipe::Axis::Linear);
    setAxis(*y, column == 0 ? chart_.yTitle : QString(), recipe_.yAxis);
    setRanges(*panel);
    if (!setWordTicks(*x))
        setFewTicks(*x);
    panel->setMinimumMargins(
        QMargins(int(points(8)), int(points(facet.isEmpty() ? 12 : 4)), int(points(8)), int(points(6))));
    if (hasLegend_ || chart_.facets.size() > 1)
        return panel;
    // Names of lines are to the right of their last points.
    int longest = 0;
    const QFontMetrics metrics(font(true));
    for (const QString& name : chart_.names)
        longest = std::max(longest, metrics.horizontalAdvance(name));
    panel->setAutoMargins(QCP::msLeft | QCP::msBottom | QCP::msTop);
    panel->setMargins(QMargins(0, 0, longest + int(points(6)), 0));
    return panel;
}

void ChartPlot::addLegend()
{
    auto* key = new QCPLegend;
    plotLayout()->addElement(plotLayout()->rowCount(), 0, key);
    key->setLayer(QStringLiteral("legend"));
    key->setFillOrder(QCPLegend::foColumnsFirst);
    // Uses as many columns as fit on the paper.
    int widest = 1;
    for (const QString& name : chart_.names)
        widest = std::max(widest, QFontMetrics(font()).horizontalAdvance(name) + int(points(36)));
    key->setWrap(std::clamp(paperSize(recipe_).width() / widest, 1, 4));
    key->setBorderPen(Qt::NoPen);
    key->setBrush(Qt::NoBrush);
    key->setFont(font());
    key->setTextColor(kInk);
    key->setIconSize(int(points(20)), int(points(10)));
    key->setMaximumSize(QWIDGETSIZE_MAX, key->minimumOuterSizeHint().height());
    QStringList named;
    for (int i = 0; i < graphCount(); ++i) {
        if (graph(i)->name().isEmpty() || graph(i)->lineStyle() == QCPGraph::lsNone ||
            !chart_.names.contains(graph(i)->name()) || named.contains(graph(i)->name()))
            continue;
        named << graph(i)->name();
        key->addItem(new QCPPlottableLegendItem(key, graph(i)));
    }
    plotLayout()->setRowStretchFactor(plotLayout()->rowCount() - 1, 0.001);
}

void ChartPlot::layOut()
{
    plotLayout()->clear();
    panels_.clear();
    names_.clear();
    points_.clear();
    pointLabels_.clear();
    formulas_.clear();
    const auto addWords = [this](QCPLayoutGrid& grid, int row, int column, const QString& text, bool bold) {
        auto* words = new QCPTextElement(this, text, font(bold));
        words->setTextColor(kInk);
        words->setMargins(QMargins(0, int(points(bold ? 4 : 2)), 0, 0));
        grid.addElement(row, column, words);
        grid.setRowStretchFactor(row, 0.001);
    };
    if (!recipe_.title.isEmpty())
        addWords(*plotLayout(), 0, 0, recipe_.title, true);
    auto* grid = new QCPLayoutGrid;
    plotLayout()->addElement(plotLayout()->rowCount(), 0, grid);
    const auto count = std::max<std::size_t>(1, std::size_t(chart_.facets.size()));
    const std::size_t columns = std::min(kMostInRow, count);
    for (std::size_t i = 0; i < count; ++i) {
        const QString facet = chart_.facets.value(qsizetype(i));
        const auto column = int(i % columns);
        const auto row = int(i / columns * 2);
        if (!facet.isEmpty())
            addWords(*grid, row, column, chart_.facetKey + QLatin1Char(' ') + facet, false);
        panels_.push_back(
            addPanel(*grid, facet.isEmpty() ? row : row + 1, column, i + columns >= count, facet));
    }
}

// Points of several series at one word would overlap, so each series has its own offset from the word.
void ChartPlot::moveApart()
{
    constexpr double kWidest = 0.6; // of the distance between two words
    constexpr double kUsual = 0.14;
    const auto count = double(chart_.names.size());
    if (chart_.words.isEmpty() || count < 2)
        return;
    const double step = std::min(kUsual, kWidest / (count - 1));
    for (ChartSeries& series : chart_.series) {
        const double by = step * (double(placeOf(series)) - (count - 1) / 2);
        for (ChartPoint& point : series.points)
            point.x += by;
        for (ChartPoint& point : series.outOfMemory)
            point.x += by;
    }
}

void ChartPlot::show(const Chart& chart, const ChartRecipe& recipe)
{
    chart_ = chart;
    moveApart();
    recipe_ = recipe;
    hasLegend_ = (chart_.facets.size() > 1 || !chart_.words.isEmpty()) && chart_.names.size() > 1;
    if (!draw()) {
        // Lines leave no space for the name of one of them.
        hasLegend_ = true;
        draw();
    }
}

// False if a name has no place of its own.
bool ChartPlot::draw()
{
    clearPlottables();
    clearItems();
    layOut();
    for (std::size_t i = 0; i < panels_.size(); ++i) {
        const QString facet = chart_.facets.value(qsizetype(i));
        for (const ChartSeries& series : chart_.series)
            if (series.facet == facet)
                addSeries(series, *panels_[i]);
        if (recipe_.outOfMemory)
            addOutOfMemory(*panels_[i], facet);
    }
    // A series with its markers out of memory, by x.
    std::ranges::stable_sort(
        points_, {}, [](const Placed& placed) { return std::pair(placed.ref.series, placed.ref.point->x); });
    if (hasLegend_)
        addLegend();
    // Laid out at the size of the paper, whatever that of the widget.
    setViewport(QRect(QPoint(0, 0), paperSize(recipe_)));
    plotLayout()->update(QCPLayoutElement::upPreparation);
    plotLayout()->update(QCPLayoutElement::upMargins);
    plotLayout()->update(QCPLayoutElement::upLayout);
    turnFormulas();
    LabelPlaces places{QRectF(viewport())};
    takePlaces(places);
    const bool areNamed = placeNames(places);
    partPointLabels(places);
    return areNamed;
}

void ChartPlot::drawVectors(QPainter& painter, const QSize& size)
{
    drawPlot(*this, painter, size);
}

std::optional<ChartPlot::PointRef> ChartPlot::pointAt(const QPointF& place, double reach) const
{
    std::optional<PointRef> nearest;
    double least = reach;
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const QPointF at = placeOf(i);
        const double distance = std::hypot(at.x() - place.x(), at.y() - place.y());
        if (distance <= least) {
            least = distance;
            nearest = points_[i].ref;
        }
    }
    return nearest;
}

QString ChartPlot::xText(const ChartPoint& point) const
{
    // Words stand at whole numbers; their points may be moved apart.
    const QString value = !chart_.words.isEmpty() ? chart_.words.value(qsizetype(std::round(point.x)))
                          : point.x == std::floor(point.x) ? wholeNumber(std::int64_t(point.x))
                                                           : threeDigits(point.x);
    return QStringLiteral("%1: %2").arg(chart_.xTitle, value);
}

QPointF ChartPlot::placeOf(std::size_t point) const
{
    const Placed& placed = points_[point];
    return {placed.panel->axis(QCPAxis::atBottom)->coordToPixel(placed.ref.point->x),
            placed.panel->axis(QCPAxis::atLeft)->coordToPixel(placed.y)};
}

std::optional<std::size_t> ChartPlot::neighbour(std::size_t point, Qt::Key arrow) const
{
    const bool isAlong = arrow == Qt::Key_Left || arrow == Qt::Key_Right;
    const bool isBackward = arrow == Qt::Key_Left || arrow == Qt::Key_Up;
    const ChartSeries* series = points_[point].ref.series;
    if (isAlong) {
        for (std::size_t i = point; isBackward ? i-- > 0 : ++i < points_.size();)
            if (points_[i].ref.series == series || points_[i].ref.series->name == series->name)
                return i; // the same line in the panel beside, beyond the end of this one
        return {};
    }
    // The point of each other line of the panel that is nearest along x; of these the next one up or down.
    std::map<const ChartSeries*, std::size_t> nearest;
    const QPointF from = placeOf(point);
    for (std::size_t i = 0; i < points_.size(); ++i) {
        if (points_[i].panel != points_[point].panel || points_[i].ref.series == series)
            continue;
        const auto [known, isNew] = nearest.emplace(points_[i].ref.series, i);
        if (!isNew && std::abs(placeOf(i).x() - from.x()) < std::abs(placeOf(known->second).x() - from.x()))
            known->second = i;
    }
    std::optional<std::size_t> next;
    double least = std::numeric_limits<double>::max();
    for (const auto& [other, i] : nearest) {
        const double down = placeOf(i).y() - from.y();
        // Of two points at one place, the line that comes later is the lower one.
        const bool isBelow = down > 0 || (down == 0 && other > series);
        if (isBelow == isBackward || std::abs(down) >= least)
            continue;
        least = std::abs(down);
        next = i;
    }
    return next;
}

} // namespace tilescope::ui
