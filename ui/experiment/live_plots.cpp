#include "ui/experiment/live_plots.h"

#include "ui/kit/number_text.h"
#include "ui/kit/step_text.h"
#include "ui/theme/theme.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

// The axis extends to the last step to do.
QCPRange stepRange(std::int64_t first, std::int64_t stepsToDo)
{
    const double last = double(std::max<std::int64_t>(stepsToDo, 1)) - 1;
    const double room = std::max(0.5, 0.02 * (last - double(first)));
    return {double(first) - room, last + room};
}

// As many labels as fit.
void spaceTicks(QCPAxis& axis, int height)
{
    axis.ticker()->setTickCount(std::clamp(height / sizes().of(32), 2, 5));
}

// Timed steps only, in ms.
std::optional<analysis::Statistics> timedOf(const std::vector<SweepProgress::Step>& steps)
{
    std::vector<double> times;
    for (const SweepProgress::Step& step : steps)
        if (step.step >= 0)
            times.push_back(step.wallNs / 1e6);
    return analysis::summarise(times);
}

} // namespace

StepsPlot::StepsPlot(QWidget* parent)
    : ThemedPlot(parent), dots_(addGraph()), above_(addGraph()), below_(addGraph()),
      warmup_(new QCPItemRect(this)), warmupWord_(new QCPItemText(this)),
      median_(new QCPItemStraightLine(this))
{
    setAccessibleName(tr("Step times of the running point"));
    for (QCPGraph* graph : {dots_, above_, below_})
        graph->setLineStyle(QCPGraph::lsNone);
    xAxis->grid()->setVisible(false);
    xAxis->setLabel(tr("step"));
    useCounts(*xAxis);
    warmup_->setLayer(QStringLiteral("background"));
    for (QCPItemPosition* corner : {warmup_->topLeft, warmup_->bottomRight}) {
        corner->setTypeX(QCPItemPosition::ptPlotCoords);
        corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
    }
    warmupWord_->position->setTypeX(QCPItemPosition::ptPlotCoords);
    warmupWord_->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    warmupWord_->setPositionAlignment(Qt::AlignLeft | Qt::AlignBottom);
    warmupWord_->setText(tr("◂ warm-up"));
    warmupWord_->setLayer(QStringLiteral("overlay")); // the line of the median passes behind it
    median_->point1->setType(QCPItemPosition::ptPlotCoords);
    median_->point2->setType(QCPItemPosition::ptPlotCoords);
    connect(this, &ThemedPlot::rethemed, this, &StepsPlot::dress);
    dress();
    show({}, 0);
}

void StepsPlot::dress()
{
    const Palette& p = colours();
    dots_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, p.running, p.running, sizes().of(4)));
    above_->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssTriangle, p.dimText, p.dimText, sizes().of(6)));
    below_->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssTriangleInverted, p.dimText, p.dimText, sizes().of(6)));
    warmup_->setPen(Qt::NoPen);
    warmup_->setBrush(p.background);
    warmupWord_->setColor(p.dimText);
    warmupWord_->setFont(Theme::instance().small());
    warmupWord_->setBrush(p.surface);
    median_->setPen(QPen(p.text, 1, Qt::DashLine));
}

void StepsPlot::show(const std::vector<SweepProgress::Step>& steps, std::int64_t stepsToDo,
                     const QString& nothing)
{
    const std::optional<analysis::Statistics> timed = timedOf(steps);
    // The scale is that of the timed steps, or of the warm-up while there are too few of them.
    constexpr std::int64_t kEnough = 3;
    double least = 0;
    double most = 0;
    bool any = false;
    for (const SweepProgress::Step& step : steps) {
        if (timed && timed->n >= std::int64_t(kEnough) && step.step < 0)
            continue;
        least = any ? std::min(least, step.wallNs) : step.wallNs;
        most = any ? std::max(most, step.wallNs) : step.wallNs;
        any = true;
    }
    const double room = std::max(0.12 * (most - least), 0.02 * most);
    const Unit unit = timeUnit(any ? most : 1e6);
    const double top = most + room;
    const double bottom = least - room;
    enum { Within, Above, Below };
    QVector<double> x[3];
    QVector<double> y[3];
    for (const SweepProgress::Step& step : steps) {
        const int place = step.wallNs > top ? Above : step.wallNs < bottom ? Below : Within;
        const double shown = place == Above   ? top - 0.35 * room
                             : place == Below ? bottom + 0.35 * room
                                              : step.wallNs;
        x[place] << double(step.step);
        y[place] << shown / unit.divisor;
    }
    dots_->setData(x[Within], y[Within], true);
    above_->setData(x[Above], y[Above], true);
    below_->setData(x[Below], y[Below], true);
    const std::int64_t first = steps.empty() ? 0 : std::min<std::int64_t>(steps.front().step, 0);
    xAxis->setRange(stepRange(first, stepsToDo));
    spaceTicks(*yAxis, height());
    yAxis->setRange(any ? bottom / unit.divisor : 0, any ? top / unit.divisor : 1);
    yAxis->setLabel(QString::fromStdString(unit.suffix));
    warmup_->setVisible(first < 0);
    constexpr double kRoomForWord = 120; // in a lower plot it would hide dots
    warmupWord_->setVisible(first < 0 && height() >= sizes().of(kRoomForWord));
    warmup_->topLeft->setCoords(xAxis->range().lower, 0);
    warmup_->bottomRight->setCoords(-0.5, 1);
    warmupWord_->position->setCoords(-0.4, 0.98);
    median_->setVisible(timed && timed->n > 1);
    const double middle = timed ? timed->median * 1e6 / unit.divisor : 0;
    median_->point1->setCoords(0, middle);
    median_->point2->setCoords(1, middle);
    summary_ = timed ? medianWords(*timed) : QString();
    setAccessibleDescription(summary_);
    setNothing(steps.empty() ? nothing : QString());
    replot(QCustomPlot::rpQueuedReplot);
}

HeldMemoryPlot::HeldMemoryPlot(QWidget* parent)
    : ThemedPlot(parent), allocated_(addGraph()), reserved_(addGraph()), peak_(addGraph())
{
    setAccessibleName(tr("Memory after each step of the running point"));
    for (QCPGraph* graph : {allocated_, reserved_, peak_})
        graph->setLineStyle(QCPGraph::lsStepCenter);
    xAxis->grid()->setVisible(false);
    xAxis->setLabel(tr("step"));
    useCounts(*xAxis);
    connect(this, &ThemedPlot::rethemed, this, &HeldMemoryPlot::dress);
    dress();
    show({}, 0);
}

void HeldMemoryPlot::dress()
{
    const Palette& p = colours();
    allocated_->setPen(QPen(p.activations, 1.5));
    allocated_->setBrush(blend(p.activations, p.surface, 0.35));
    reserved_->setPen(QPen(p.text, 1));
    peak_->setPen(QPen(p.dimText, 1, Qt::DashLine));
}

void HeldMemoryPlot::show(const std::vector<SweepProgress::Memory>& memory, std::int64_t stepsToDo,
                          const QString& nothing)
{
    double most = 0;
    double peak = 0;
    for (const SweepProgress::Memory& reading : memory) {
        peak = std::max({peak, reading.allocated, reading.peak.value_or(0)});
        most = std::max({most, peak, reading.reserved.value_or(0)});
    }
    const Unit unit = byteUnit(most > 0 ? most : 1 << 20);
    QVector<double> x;
    QVector<double> allocated;
    QVector<double> reservedX;
    QVector<double> reserved;
    QVector<double> peakX;
    QVector<double> peaks;
    for (const SweepProgress::Memory& reading : memory) {
        x << double(reading.step);
        allocated << reading.allocated / unit.divisor;
        if (reading.reserved) {
            reservedX << double(reading.step);
            reserved << *reading.reserved / unit.divisor;
        }
        if (reading.peak) {
            peakX << double(reading.step);
            peaks << *reading.peak / unit.divisor;
        }
    }
    allocated_->setData(x, allocated, true);
    reserved_->setData(reservedX, reserved, true);
    peak_->setData(peakX, peaks, true);
    const std::int64_t first = memory.empty() ? 0 : std::min<std::int64_t>(memory.front().step, 0);
    xAxis->setRange(stepRange(first, stepsToDo));
    spaceTicks(*yAxis, height());
    yAxis->setRange(0, most > 0 ? 1.15 * most / unit.divisor : 1);
    yAxis->setLabel(QString::fromStdString(unit.suffix));
    summary_ = memory.empty() ? QString() : tr("after each step; peak allocated %1").arg(byteText(peak));
    if (!reserved.isEmpty())
        summary_ += tr(", reserved %1").arg(byteText(reserved.back() * unit.divisor));
    setAccessibleDescription(summary_);
    setNothing(memory.empty() ? nothing : QString());
    replot(QCustomPlot::rpQueuedReplot);
}

} // namespace tilescope::ui
