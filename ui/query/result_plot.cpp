#include "ui/query/result_plot.h"

#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kMostTicks = 4;

/// Whether the labels of the axis do not touch if it has about so many ticks.
bool areApart(const QCPAxis& axis, int count)
{
    NumberTicker ticker;
    ticker.setTickCount(count);
    QVector<double> ticks;
    QVector<QString> labels;
    ticker.generate(axis.range(), QLocale::c(), QLatin1Char('g'), 6, ticks, nullptr, &labels);
    const QFontMetrics metrics(axis.tickLabelFont());
    double free = -1e9;
    for (qsizetype i = 0; i < ticks.size(); ++i) {
        const double half = metrics.horizontalAdvance(labels[i]) / 2.0;
        const double at = axis.coordToPixel(ticks[i]);
        if (at - half < free)
            return false;
        free = at + half + sizes().of(8);
    }
    return true;
}

} // namespace

ResultPlot::ResultPlot(QWidget* parent)
    : ThemedPlot(parent), bars_(new QCPBars(yAxis, xAxis)), points_(addGraph())
{
    points_->setLineStyle(QCPGraph::lsLine);
    connect(this, &ThemedPlot::rethemed, this, &ResultPlot::dress);
    connect(this, &QCustomPlot::afterLayout, this, &ResultPlot::keepLabelsApart);
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

void ResultPlot::keepLabelsApart()
{
    int count = kMostTicks;
    while (count > 1 && !areApart(*xAxis, count))
        --count;
    if (!numbers_ || count == numbers_->tickCount())
        return;
    numbers_->setTickCount(count);
    replot(QCustomPlot::rpQueuedReplot);
}

void ResultPlot::show(const ResultSeries& series, const QString& key, const QString& value)
{
    clear();
    const QVector<double> keys(series.keys.begin(), series.keys.end());
    const QVector<double> values(series.values.begin(), series.values.end());
    const bool hasBars = !series.labels.isEmpty();
    bars_->setVisible(hasBars);
    points_->setVisible(!hasBars);
    numbers_ = QSharedPointer<NumberTicker>::create();
    numbers_->setTickCount(kMostTicks);
    xAxis->setTicker(numbers_);
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
        const auto numbers = QSharedPointer<NumberTicker>::create();
        numbers->setTickCount(kMostTicks);
        yAxis->setTicker(numbers);
        yAxis->setRangeReversed(false);
        points_->setData(keys, values);
        rescaleAxes();
        if (yAxis->range().lower > 0)
            yAxis->setRangeLower(0);
        yAxis->setRangeUpper(yAxis->range().upper * 1.05);
        xAxis->setLabel(key);
        yAxis->setLabel(value);
    }
    replot();
}

} // namespace tilescope::ui
