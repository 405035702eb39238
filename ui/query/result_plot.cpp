#include "ui/query/result_plot.h"

#include "ui/theme/theme.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kLabelLetters = 24;

/// A label that leaves room for the bars.
QString shortened(const QString& text)
{
    return text.size() <= kLabelLetters ? text : text.left(kLabelLetters - 1) + QChar(0x2026);
}

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
    replot();
}

void ResultPlot::show(const ResultSeries& series, const QString& key, const QString& value)
{
    clear();
    const QVector<double> keys(series.keys.begin(), series.keys.end());
    const QVector<double> values(series.values.begin(), series.values.end());
    const bool hasBars = !series.labels.isEmpty();
    bars_->setVisible(hasBars);
    points_->setVisible(!hasBars);
    const auto number = QSharedPointer<QCPAxisTicker>(new NumberTicker);
    number->setTickCount(4);
    xAxis->setTicker(number);
    xAxis->setNumberFormat(QStringLiteral("g"));
    if (hasBars) {
        // Horizontal bars, the first row at the top: names of kernels are long.
        const QSharedPointer<QCPAxisTickerText> names(new QCPAxisTickerText);
        for (qsizetype i = 0; i < series.labels.size(); ++i)
            names->addTick(double(i), shortened(series.labels[i]));
        yAxis->setTicker(names);
        yAxis->setRangeReversed(true);
        yAxis->setRange(-0.6, double(series.labels.size()) - 0.4);
        bars_->setData(keys, values, true);
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        xAxis->setRange(std::min(0.0, *least), std::max(1e-9, *most * 1.05));
        xAxis->setLabel(value);
    } else {
        yAxis->setTicker(number);
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
