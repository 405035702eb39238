#include "ui/charts/chart_rows.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

using Kind = TableColumn::Kind;

QString numberText(double x)
{
    return x == std::floor(x) ? wholeNumber(std::int64_t(x)) : threeDigits(x);
}

std::set<double> everyX(const Chart& chart)
{
    std::set<double> xs;
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points)
            xs.insert(point.x);
        for (const ChartPoint& point : series.outOfMemory)
            xs.insert(point.x);
    }
    return xs;
}

TableRow rowOf(const Chart& chart, const ChartSeries& series, const LineColour& colour)
{
    QStringList words{series.name.isEmpty() ? QStringLiteral("all") : series.name};
    if (!series.facet.isEmpty())
        words << chart.facetKey + QLatin1Char(' ') + series.facet;
    TableRow row;
    row.cells.push_back(makeWords(words.join(QStringLiteral(", "))));
    if (colour)
        row.swatch = Swatch::ofLine(colour(std::size_t(chart.names.indexOf(series.name))));
    return row;
}

TableCell cellAt(const ChartSeries& series, double x)
{
    TableCell cell = makeWords(notMeasured());
    for (const ChartPoint& point : series.points) {
        if (point.x != x)
            continue;
        cell.text = threeDigits(point.y);
        cell.sort = point.y;
        cell.exact = point.exact;
    }
    if (std::ranges::find(series.outOfMemory, x, &ChartPoint::x) != series.outOfMemory.end()) {
        // Some repeats may have fitted.
        cell.text = std::isnan(cell.sort) ? QStringLiteral("OOM") : cell.text + QStringLiteral(", OOM");
        cell.tone = Tone::Warning;
    }
    return cell;
}

} // namespace

TableData chartRows(const Chart& chart, const LineColour& colour, std::size_t most)
{
    std::set<double> xs = everyX(chart);
    if (xs.size() > most)
        xs.erase(std::next(xs.begin(), std::ptrdiff_t(most)), xs.end());
    TableData data;
    if (chart.series.empty())
        return data; // a title without a unit would name one
    data.columns.push_back(makeColumn(chart.yTitle, Kind::Text, 0));
    data.columns[0].swatch = bool(colour);
    for (const double x : xs)
        data.columns.push_back(makeColumn(
            chart.words.isEmpty() ? numberText(x) : chart.words.value(qsizetype(x)), Kind::Number, 66));
    for (const ChartSeries& series : chart.series) {
        TableRow row = rowOf(chart, series, colour);
        row.id = std::int64_t(data.rows.size());
        for (const double x : xs)
            row.cells.push_back(cellAt(series, x));
        data.rows.push_back(std::move(row));
    }
    return data;
}

TableData chartFileRows(const Chart& chart)
{
    TableData data = chartRows(chart);
    const std::set<double> xs = everyX(chart);
    const auto pointAt = [](const ChartSeries& series, double x) {
        const auto found = std::ranges::find(series.points, x, &ChartPoint::x);
        return found == series.points.end() ? nullptr : &*found;
    };
    std::size_t column = 1;
    for (const double x : xs) {
        const auto hasBar = [&](const ChartSeries& series) {
            const ChartPoint* point = pointAt(series, x);
            return point && point->low && point->high;
        };
        ++column;
        if (std::ranges::none_of(chart.series, hasBar))
            continue;
        for (const auto& [word, end] :
             {std::pair("low", &ChartPoint::low), std::pair("high", &ChartPoint::high)}) {
            TableColumn made = data.columns[column - (end == &ChartPoint::low ? 1 : 2)];
            made.title += QLatin1Char(' ') + QLatin1String(word);
            data.columns.insert(data.columns.begin() + std::ptrdiff_t(column), made);
            for (std::size_t i = 0; i < chart.series.size(); ++i) {
                const ChartPoint* point = pointAt(chart.series[i], x);
                TableCell cell = makeWords(notMeasured());
                if (point && point->*end) {
                    cell.text = threeDigits(*(point->*end));
                    cell.sort = *(point->*end);
                }
                auto& cells = data.rows[i].cells;
                cells.insert(cells.begin() + std::ptrdiff_t(column), cell);
            }
            ++column;
        }
    }
    return data;
}

TableData fitRows(const Chart& chart, const LineColour& colour)
{
    const std::set<double> xs = everyX(chart);
    const double last = xs.empty() ? 0 : *xs.rbegin();
    TableData data;
    data.columns = {
        makeColumn(QStringLiteral("Fit"), Kind::Text, 0),
        makeColumn(QStringLiteral("Formula"), Kind::Text, 170),
        makeColumn(QStringLiteral("± of c, %"), Kind::Number, 76),
        makeColumn(QStringLiteral("From"), Kind::Number, 66),
        makeColumn(QStringLiteral("R²"), Kind::Number, 66),
        makeColumn(QStringLiteral("At %1, %2").arg(numberText(last), chart.unit), Kind::Number, 110)};
    data.columns[0].swatch = bool(colour);
    data.columns[2].tip = QStringLiteral("standard error of c, from the points' distances to the line");
    data.columns[5].tip = QStringLiteral("what the fit predicts there, measured or not");
    for (const ChartSeries& series : chart.series) {
        if (!series.fit)
            continue;
        TableRow row = rowOf(chart, series, colour);
        row.id = std::int64_t(data.rows.size());
        row.cells.push_back(makeWords(series.fit->formula(chart.xWord, chart.unit)));
        row.cells.push_back(
            makeWords(series.fit->spread > 0 ? threeDigits(100 * series.fit->spread) : notMeasured()));
        row.cells.push_back(makeWords(numberText(series.fit->fromX)));
        row.cells.push_back(makeWords(QString::number(series.fit->r2, 'f', 4)));
        row.cells.push_back(makeWords(threeDigits(series.fit->at(last))));
        data.rows.push_back(std::move(row));
    }
    return data;
}

} // namespace tilescope::ui
