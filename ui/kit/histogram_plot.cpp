#include "ui/kit/histogram_plot.h"

#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <algorithm>

namespace tilescope::ui {

HistogramPlot::HistogramPlot(QWidget* parent)
    : ThemedPlot(parent), bars_(new QCPBars(xAxis, yAxis)), mean_(new QCPItemStraightLine(this)),
      median_(new QCPItemStraightLine(this)), legend_(new QCPItemText(this))
{
    xAxis->grid()->setVisible(false);
    bars_->setName(tr("instances by duration"));
    yAxis->setLabel(tr("instances"));
    useCounts(*yAxis);
    legend_->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
    legend_->setTextAlignment(Qt::AlignRight);
    legend_->position->setType(QCPItemPosition::ptAxisRectRatio);
    legend_->position->setCoords(1, 0.02);
    for (QCPItemStraightLine* line : {mean_, median_}) {
        line->point1->setType(QCPItemPosition::ptPlotCoords);
        line->point2->setType(QCPItemPosition::ptPlotCoords);
    }
    connect(this, &ThemedPlot::rethemed, this, &HistogramPlot::dress);
    dress();
}

void HistogramPlot::dress()
{
    const Palette& p = colours();
    bars_->setPen(QPen(p.surface, 1));
    bars_->setBrush(p.hue(hue_));
    mean_->setPen(QPen(p.text, 1.2));
    median_->setPen(QPen(p.text, 1.2, Qt::DashLine));
    legend_->setFont(Theme::instance().small());
    legend_->setColor(p.dimText);
    QColor ground = p.surface; // keeps the words readable on bars and lines
    ground.setAlphaF(0.85F);
    legend_->setBrush(ground);
    legend_->setPen(Qt::NoPen);
}

void HistogramPlot::show(const Durations& durations, query::Hue hue)
{
    hue_ = hue;
    dress();
    const Histogram& histogram = durations.histogram;
    const bool any = !histogram.counts.empty();
    mean_->setVisible(any);
    median_->setVisible(any);
    legend_->setVisible(any);
    bars_->data()->clear();
    setNothing(any ? QString() : tr("Nothing is selected."));
    if (!any) {
        replot();
        return;
    }
    setAccessibleDescription(
        tr("mean %1, median %2").arg(timeText(durations.mean), timeText(durations.median)));
    const double mean = durations.mean;
    const double median = durations.median;
    const Unit unit = timeUnit(mean);
    QVector<double> keys;
    QVector<double> values;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        keys << (histogram.from + (double(i) + 0.5) * histogram.width) / unit.divisor;
        values << double(histogram.counts[i]);
    }
    bars_->setWidth(histogram.width / unit.divisor);
    bars_->setData(keys, values, true);
    mean_->point1->setCoords(mean / unit.divisor, 0);
    mean_->point2->setCoords(mean / unit.divisor, 1);
    median_->point1->setCoords(median / unit.divisor, 0);
    median_->point2->setCoords(median / unit.divisor, 1);
    legend_->setText(tr("mean %1 (line)\nmedian %2 (dashed)").arg(timeText(mean), timeText(median)));
    xAxis->setLabel(tr("duration, %1").arg(QString::fromStdString(unit.suffix)));
    const double width = histogram.width * double(histogram.counts.size());
    xAxis->setRange((histogram.from - 0.02 * width) / unit.divisor,
                    (histogram.from + 1.02 * width) / unit.divisor);
    constexpr double kRoomForWords = 1.3; // above the highest bar
    yAxis->setRange(0, kRoomForWords * *std::max_element(values.begin(), values.end()));
    replot();
}

} // namespace tilescope::ui
