#include "ui/query/result_plot.h"

#include "ui/kit/count_text.h"
#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kMostTicks = 4;

} // namespace

ResultPlot::ResultPlot(QWidget* parent)
    : ThemedPlot(parent), bars_(new QCPBars(yAxis, xAxis)), points_(addGraph())
{
    points_->setLineStyle(QCPGraph::lsLine);
    connect(this, &ThemedPlot::rethemed, this, &ResultPlot::dress);
    dress();
    clear();
}

void ResultPlot::dress()
{
    const Palette& p = colours();
    bars_->setPen(Qt::NoPen);
    bars_->setBrush(p.accent);
    points_->setPen(QPen(p.accent, 1));
    points_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, p.accent, p.accent, 4));
}

void ResultPlot::clear()
{
    bars_->data()->clear();
    points_->data()->clear();
    xAxis->setLabel({});
    yAxis->setLabel({});
    setNothing(tr("Nothing to draw."));
    replot();
}

void ResultPlot::resizeEvent(QResizeEvent* event)
{
    nameBars();
    ThemedPlot::resizeEvent(event);
}

// Labels leave most of the width to the bars. Names of kernels differ at their beginnings and ends.
void ResultPlot::nameBars()
{
    if (labels_.isEmpty())
        return;
    const QFontMetrics metrics(yAxis->tickLabelFont());
    const QSharedPointer<QCPAxisTickerText> names(new QCPAxisTickerText);
    const QStringList shown =
        distinctTexts(labels_, metrics, Qt::ElideMiddle, std::max(sizes().of(120), width() * 2 / 5));
    for (qsizetype i = 0; i < shown.size(); ++i)
        names->addTick(double(i), shown[i]);
    yAxis->setTicker(names);
}

void ResultPlot::show(const ResultSeries& series, const QString& key, const QString& value)
{
    clear();
    if (series.keys.empty())
        return;
    setNothing({});
    const QVector<double> keys(series.keys.begin(), series.keys.end());
    const QVector<double> values(series.values.begin(), series.values.end());
    const bool hasBars = !series.labels.isEmpty();
    bars_->setVisible(hasBars);
    points_->setVisible(!hasBars);
    const auto ticker = [](const QCPAxis& axis) {
        auto numbers = QSharedPointer<NumberTicker>::create(axis);
        numbers->setTickCount(kMostTicks);
        return numbers;
    };
    xAxis->setTicker(ticker(*xAxis));
    labels_ = series.labels;
    xAxis->setNumberFormat(QStringLiteral("g"));
    if (hasBars) {
        // Horizontal bars, the first row at the top: names of kernels are long.
        nameBars();
        yAxis->setRangeReversed(true);
        yAxis->setRange(-0.6, double(series.labels.size()) - 0.4);
        bars_->setData(keys, values, true);
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        xAxis->setRange(std::min(0.0, *least), std::max(1e-9, *most * 1.05));
        xAxis->setLabel(value);
    } else {
        yAxis->setTicker(ticker(*yAxis));
        yAxis->setRangeReversed(false);
        points_->setData(keys, values);
        rescaleAxes();
        if (yAxis->range().lower > 0)
            yAxis->setRangeLower(0);
        yAxis->setRangeUpper(yAxis->range().upper * 1.05);
        xAxis->setLabel(key);
        yAxis->setLabel(value);
    }
    setAccessibleDescription(tr("%1 by %2, %3").arg(value, key, counted(std::ssize(series.keys), "row")));
    replot();
}

} // namespace tilescope::ui
