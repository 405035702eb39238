#include "ui/compare/distribution_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/kit/time_axis.h"
#include "ui/kit/tone.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilescope::ui {

namespace {

// Samples beyond this many interquartile ranges would squeeze the rest: they become a tick at the edge.
constexpr double kFences = 4;

double widthOfKernel(std::vector<double> samples)
{
    const auto n = double(samples.size());
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
    double squares = 0;
    for (const double sample : samples)
        squares += (sample - mean) * (sample - mean);
    const double deviation = std::sqrt(squares / std::max(1.0, n - 1));
    std::sort(samples.begin(), samples.end());
    const double quartiles = analysis::quantile(samples, 0.75) - analysis::quantile(samples, 0.25);
    const double spread = quartiles > 0 ? std::min(deviation, quartiles / 1.34) : deviation;
    return 0.9 * spread * std::pow(n, -0.2);
}

// The range of both runs' samples, without far outliers.
std::pair<double, double> rangeOf(const PhaseSamples& phase)
{
    double from = 1e300;
    double to = -1e300;
    for (const std::vector<double>* run : {&phase.a, &phase.b}) {
        std::vector<double> sorted = *run;
        std::sort(sorted.begin(), sorted.end());
        const double low = analysis::quantile(sorted, 0.25);
        const double high = analysis::quantile(sorted, 0.75);
        const double fence = kFences * std::max(high - low, 0.002 * high);
        from = std::min(from, std::max(sorted.front(), low - fence));
        to = std::max(to, std::min(sorted.back(), high + fence));
    }
    const double margin = std::max(0.08 * (to - from), 0.002 * to);
    return {from - margin, to + margin};
}

void drawTicks(QPainter& painter, const QRectF& rect, double from, double to, double wanted,
               const QString& unit, bool grid)
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetricsF metrics(painter.font());
    // A single tick does not show the scale: use finer steps, of which a few are enough.
    const auto ticksOf = [&](double step) { return std::floor(to / step) - std::ceil(from / step) + 1; };
    double step = roundStep((to - from) / wanted);
    for (int finer = 0; finer < 3 && ticksOf(step) < 2; ++finer)
        step = roundStep(step / 2.6); // steps are 2 or 2.5 apart
    painter.setPen(p.strongLine);
    painter.drawLine(rect.bottomLeft(), rect.bottomRight());
    for (double tick = std::ceil(from / step) * step; tick <= to; tick += step) {
        const double x = rect.left() + (tick - from) / (to - from) * rect.width();
        if (grid) {
            painter.setPen(p.grid);
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()));
        }
        QString text = tickText(std::abs(tick) < step * 1e-9 ? 0 : tick);
        if (tick + step > to)
            text = unit == QStringLiteral("×") ? text + unit : withUnit(text, unit.toUtf8().constData());
        painter.setPen(p.dimText);
        const double width = metrics.horizontalAdvance(text);
        painter.drawText(QPointF(std::clamp(x - width / 2, rect.left(), rect.right() - width + 6),
                                 rect.bottom() + metrics.ascent() + 2),
                         text);
    }
}

} // namespace

Unit unitOf(const PhaseSamples& phase)
{
    return columnUnit({phase.statisticsA.median * 1e6, phase.statisticsB.median * 1e6}, timeUnit);
}

std::vector<double> densityOf(const std::vector<double>& samples, double from, double to, std::size_t columns)
{
    std::vector<double> density(columns, 0);
    if (samples.empty() || columns == 0)
        return density;
    const double column = (to - from) / double(columns);
    const double width = std::max(widthOfKernel(samples), column);
    for (std::size_t i = 0; i < columns; ++i) {
        const double at = from + (double(i) + 0.5) * column;
        for (const double sample : samples)
            density[i] += std::exp(-0.5 * std::pow((at - sample) / width, 2));
    }
    const double most = *std::max_element(density.begin(), density.end());
    if (most > 0)
        for (double& value : density)
            value /= most;
    return density;
}

DistributionPlot::DistributionPlot(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Samples of both runs by phase"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void DistributionPlot::show(std::vector<PhaseSamples> phases)
{
    phases_ = std::move(phases);
    leastRatio_ = 0.97;
    greatestRatio_ = 1.03;
    for (const PhaseSamples& phase : phases_) {
        const double ratio = phase.difference.ratio;
        const analysis::ConfidenceInterval interval =
            phase.difference.ratio95.value_or(analysis::ConfidenceInterval{ratio, ratio});
        leastRatio_ = std::min(leastRatio_, interval.low);
        greatestRatio_ = std::max(greatestRatio_, interval.high);
    }
    const double margin = 0.06 * (greatestRatio_ - leastRatio_);
    leastRatio_ -= margin;
    greatestRatio_ += margin;
    setAccessibleDescription(spokenRows(table()));
    update();
}

QSize DistributionPlot::sizeHint() const
{
    return {sizes().of(640), sizes().of(290)};
}

QSize DistributionPlot::minimumSizeHint() const
{
    return {sizes().of(360), sizes().of(64) * std::max(1, int(phases_.size()))};
}

// Density above its base line, ticks across it, median and interval on it.
void DistributionPlot::drawRun(QPainter& painter, const std::vector<double>& samples,
                               const analysis::Statistics& statistics, const QRectF& rect, double from,
                               double to, const QColor& colour) const
{
    const Palette& p = colours();
    const auto x = [&](double value) {
        return rect.left() + std::clamp((value - from) / (to - from), 0.0, 1.0) * rect.width();
    };
    const auto columns = std::size_t(std::max(8.0, rect.width() / 2));
    const std::vector<double> density = densityOf(samples, from, to, columns);
    const double base = rect.bottom();
    const double height = rect.height() - sizes().of(4);
    QPainterPath outline(QPointF(rect.left(), base));
    for (std::size_t i = 0; i < columns; ++i)
        outline.lineTo(rect.left() + (double(i) + 0.5) * rect.width() / double(columns),
                       base - density[i] * height);
    outline.lineTo(rect.right(), base);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillPath(outline, blend(colour, p.surface, 0.22));
    painter.setPen(QPen(colour, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(outline);
    const double tick = sizes().of(3);
    for (const double sample : samples)
        painter.drawLine(QPointF(x(sample), base - tick), QPointF(x(sample), base + tick));
    if (statistics.ci95) {
        painter.setPen(QPen(p.text, sizes().of(3), Qt::SolidLine, Qt::FlatCap));
        painter.drawLine(QPointF(x(statistics.ci95->low), base), QPointF(x(statistics.ci95->high), base));
    }
    painter.setPen(QPen(p.text, 1.5));
    painter.setBrush(p.surface);
    const double ring = sizes().of(4);
    painter.drawEllipse(QPointF(x(statistics.median), base), ring, ring);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void DistributionPlot::drawRatio(QPainter& painter, const PhaseSamples& phase, const QRectF& rect) const
{
    const Palette& p = colours();
    drawTicks(painter, rect, leastRatio_, greatestRatio_, rect.width() / sizes().of(44), QStringLiteral("×"),
              true);
    const auto x = [&](double ratio) {
        return rect.left() + (ratio - leastRatio_) / (greatestRatio_ - leastRatio_) * rect.width();
    };
    painter.setPen(QPen(p.dimText, 1));
    painter.drawLine(QPointF(x(1), rect.top()), QPointF(x(1), rect.bottom()));
    const analysis::TimeDifference& difference = phase.difference;
    const bool differs = difference.isDifferent();
    const Toned toned = tonedBy(toneOf(difference.difference, difference.verdict), p);
    const double y = rect.top() + rect.height() * 0.62;
    painter.setPen(QPen(toned.colour, 1.5));
    if (const auto& interval = difference.ratio95) {
        for (const double end : {interval->low, interval->high})
            painter.drawLine(QPointF(x(end), y - 4), QPointF(x(end), y + 4));
        painter.drawLine(QPointF(x(interval->low), y), QPointF(x(interval->high), y));
    }
    const double side = sizes().of(6);
    painter.fillRect(QRectF(x(difference.ratio) - side / 2, y - side / 2, side, side), toned.colour);

    const QString text = differs ? withUnit(signedDigits(100 * (difference.ratio - 1)), "%")
                         : difference.verdict == analysis::Verdict::NoDifference
                             ? QStringLiteral("no difference")
                             : QStringLiteral("inconclusive");
    painter.setFont(differs ? Theme::instance().bold() : Theme::instance().body());
    painter.setPen(toned.colour);
    const QFontMetricsF metrics(painter.font());
    const double width = metrics.horizontalAdvance(text);
    // On the side of the axis that the interval leaves free.
    const bool left = x(difference.ratio) > rect.center().x();
    const double at = left ? rect.left() + sizes().of(16) : rect.right() - width;
    painter.fillRect(QRectF(at - sizes().of(16), rect.top() - 2, width + sizes().of(18), metrics.height()),
                     p.surface);
    painter.drawText(QPointF(at, rect.top() + metrics.ascent() - 2), text);
    if (toned.sign)
        paintIcon(painter, *toned.sign,
                  QRectF(at - sizes().of(14), rect.top() + metrics.height() / 2 - sizes().of(7),
                         sizes().of(11), sizes().of(11)),
                  toned.colour);
}

void DistributionPlot::drawPhase(QPainter& painter, const PhaseSamples& phase, const QRectF& rect) const
{
    const Palette& p = colours();
    const double pad = sizes().padding;
    const double label = sizes().of(64);
    const double ratio = std::min(sizes().of(176) * 1.0, rect.width() * 0.3);
    const double axis = sizes().of(16);
    painter.setFont(Theme::instance().bold());
    painter.setPen(p.text);
    painter.drawText(QRectF(pad, rect.top() + 2, label + 12, 20), Qt::AlignLeft | Qt::AlignTop, phase.name);
    const QRectF plot(pad + label + sizes().of(24), rect.top() + sizes().of(4),
                      rect.width() - label - ratio - 3 * pad - sizes().of(40),
                      rect.height() - axis - sizes().of(8));
    const auto [from, to] = rangeOf(phase);
    const Unit unit = unitOf(phase);
    const double scale = 1e6 / unit.divisor;
    drawTicks(painter, plot, from * scale, to * scale, plot.width() / sizes().of(76),
              QString::fromStdString(unit.suffix), true);
    const double half = plot.height() / 2;
    const std::pair<const char*, QColor> runs[] = {{"A", p.runA}, {"B", p.runB}};
    for (int i = 0; i < 2; ++i) {
        const QRectF run(plot.left(), plot.top() + i * half, plot.width(), half);
        painter.setFont(Theme::instance().body());
        painter.setPen(i == 0 ? p.dimText : runs[i].second);
        painter.drawText(QRectF(run.left() - sizes().of(20), run.bottom() - 20, sizes().of(14), 22),
                         Qt::AlignLeft | Qt::AlignBottom, QString::fromLatin1(runs[i].first));
        drawRun(painter, i == 0 ? phase.a : phase.b, i == 0 ? phase.statisticsA : phase.statisticsB, run,
                from, to, runs[i].second);
    }
    drawRatio(painter, phase,
              QRectF(rect.right() - ratio - pad, rect.top() + sizes().of(4), ratio,
                     rect.height() - axis - sizes().of(8)));
}

void DistributionPlot::draw(QPainter& painter, const QSize& size) const
{
    if (phases_.empty()) {
        painter.setPen(colours().dimText);
        painter.setFont(Theme::instance().body());
        painter.drawText(QRect(QPoint(0, 0), size), Qt::AlignCenter,
                         tr("The runs have no timed steps of the same phase."));
        return;
    }
    const double height = double(size.height() - sizes().of(6)) / double(phases_.size());
    for (std::size_t i = 0; i < phases_.size(); ++i) {
        const QRectF rect(0, sizes().of(4) + double(i) * height, size.width(), height);
        if (i > 0) {
            painter.setPen(colours().grid);
            painter.drawLine(QPointF(sizes().padding, rect.top() - 1),
                             QPointF(size.width() - sizes().padding, rect.top() - 1));
        }
        drawPhase(painter, phases_[i], rect);
    }
}

void DistributionPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
}

TableData DistributionPlot::table() const
{
    TableData values;
    values.columns = {makeColumn(tr("Phase"), TableColumn::Kind::Text, 0),
                      makeColumn(tr("Run"), TableColumn::Kind::Text, 60),
                      makeColumn(tr("Sample"), TableColumn::Kind::Number, 60),
                      makeColumn(tr("Wall, ms"), TableColumn::Kind::Number, 100)};
    for (const PhaseSamples& phase : phases_)
        for (const auto& [run, samples] :
             {std::pair(QStringLiteral("A"), &phase.a), {QStringLiteral("B"), &phase.b}})
            for (std::size_t i = 0; i < samples->size(); ++i) {
                TableRow& row = values.rows.emplace_back();
                row.id = std::int64_t(values.rows.size()) - 1;
                row.cells = {makeWords(phase.name), makeWords(run), makeWords(QString::number(i + 1)),
                             makeWords(QString::number((*samples)[i], 'g', 9))};
            }
    return values;
}

void DistributionPlot::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return table(); });
}

} // namespace tilescope::ui
