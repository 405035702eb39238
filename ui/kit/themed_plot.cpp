#include "ui/kit/themed_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/plot_vectors.h"
#include "ui/kit/time_axis.h"
#include "ui/kit/vector_drawing.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>

#include <algorithm>
#include <cmath>
#include <span>

namespace tilescope::ui {

namespace {

constexpr int kDigits = 10; // 1 to 9 times a power of ten, and the next power

// `factors` times the powers of ten, from the last one not above `from` to the first one not below `to`.
QVector<double> decadeTicks(double from, double to, std::span<const int> factors)
{
    QVector<double> ticks;
    const int first = int(std::floor(std::log10(from) + 1e-9));
    for (int power = first; ticks.isEmpty() || ticks.back() < to; ++power)
        for (const int factor : factors)
            // Dividing keeps 0.2 the double that is written 0.2.
            ticks << (power < 0 ? factor / std::pow(10.0, -power) : factor * std::pow(10.0, power));
    return ticks;
}

} // namespace

void NumberTicker::generate(const QCPRange& range, const QLocale& locale, QChar format, int precision,
                            QVector<double>& ticks, QVector<double>* subTicks, QVector<QString>* labels)
{
    const int wanted = tickCount();
    for (int count = wanted;; --count) {
        setTickCount(count);
        QCPAxisTicker::generate(range, locale, format, precision, ticks, subTicks, labels);
        if (count == 1 || !labels || areApart(ticks, *labels))
            break;
    }
    setTickCount(wanted);
}

bool NumberTicker::areApart(const QVector<double>& ticks, const QVector<QString>& labels) const
{
    if (axis_->orientation() != Qt::Horizontal || axis_->axisRect()->width() <= 0)
        return true;
    const QFontMetricsF metrics(axis_->tickLabelFont());
    double free = -1e9;
    for (qsizetype i = 0; i < ticks.size(); ++i) {
        const double half = metrics.horizontalAdvance(labels[i]) / 2;
        const double at = axis_->coordToPixel(ticks[i]);
        if (at - half < free)
            return false;
        free = at + half + sizes().of(8);
    }
    return true;
}

QString NumberTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tickText(tick);
}

double NumberTicker::getTickStep(const QCPRange& range)
{
    const double step = QCPAxisTicker::getTickStep(range);
    return scale_ == Scale::Counts ? std::max(1.0, std::floor(step)) : step;
}

PowerTicker::PowerTicker(double base)
{
    setLogBase(base);
}

QString PowerTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tickText(tick);
}

QVector<double> PowerTicker::createTickVector(double tickStep, const QCPRange& range)
{
    constexpr double kFewDecades = 2.3; // powers alone may be as few as two
    constexpr double kFewestDecades = 1;
    constexpr double kFewestOctaves = 2;
    if (!(range.lower > 0 && range.upper > range.lower))
        return QCPAxisTickerLog::createTickVector(tickStep, range);
    const double powers = std::log(range.upper / range.lower) / std::log(logBase());
    if (powers < (logBase() == 10 ? kFewestDecades : kFewestOctaves))
        // Ticks of a linear axis: not those of the class that this one extends.
        return QCPAxisTicker::createTickVector(tickStep, range); // NOLINT(bugprone-parent-virtual-call)
    static constexpr int kOneTwoFive[] = {1, 2, 5};
    if (logBase() == 10 && powers < kFewDecades)
        return decadeTicks(range.lower, range.upper, kOneTwoFive);
    return QCPAxisTickerLog::createTickVector(tickStep, range);
}

// The other whole multiples of the powers of ten, unless ticks leave powers out.
QVector<double> PowerTicker::createSubTickVector(int, const QVector<double>& ticks)
{
    QVector<double> between;
    if (logBase() != 10 || ticks.size() < 2 || ticks.front() <= 0)
        return between;
    const bool isLinear = ticks.size() > 2 && std::abs(ticks[2] - 2 * ticks[1] + ticks[0]) < 1e-9 * ticks[2];
    if (isLinear || ticks[1] / ticks[0] > kDigits * (1 + 1e-9))
        return between;
    static constexpr int kAll[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (const double tick : decadeTicks(ticks.front(), ticks.back(), kAll)) {
        const auto isTick = [tick](double other) { return std::abs(other - tick) < 1e-9 * tick; };
        if (tick > ticks.front() && tick < ticks.back() && std::none_of(ticks.begin(), ticks.end(), isTick))
            between << tick;
    }
    return between;
}

ThemedPlot::ThemedPlot(QWidget* parent) : QCustomPlot(parent)
{
    // Before it is shown it is drawn once: in Qt's default size its layers would take 3.7 MB.
    setViewport(QRect(0, 0, 1, 1));
    setMinimumSize(sizes().of(240), sizes().of(140));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setTicker(QSharedPointer<NumberTicker>::create(*axis));
        axis->ticker()->setTickCount(5);
        axis->setSubTicks(false);
        axis->setTickLengthIn(0);
        axis->setTickLengthOut(4);
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    axisRect()->setupFullAxesBox(false);
    xAxis2->setVisible(false);
    yAxis2->setVisible(false);
    axisRect()->setMinimumMargins(QMargins(4, 8, 8, 4));
    setNoAntialiasingOnDrag(true);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        retheme();
        emit rethemed();
        replot(QCustomPlot::rpQueuedReplot);
    });
    retheme();
}

void ThemedPlot::useCounts(QCPAxis& axis)
{
    const int ticks = axis.ticker()->tickCount();
    axis.setTicker(QSharedPointer<NumberTicker>::create(axis, NumberTicker::Scale::Counts));
    axis.ticker()->setTickCount(ticks);
}

void ThemedPlot::drawVectors(QPainter& painter, const QSize& size)
{
    drawPlot(*this, painter, size);
}

void ThemedPlot::paintEvent(QPaintEvent* event)
{
    if (!VectorDrawing::isOn())
        return QCustomPlot::paintEvent(event);
    QPainter painter(this);
    drawVectors(painter, size());
}

void ThemedPlot::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return tableOf(*this); });
}

void ThemedPlot::setNothing(const QString& sentence)
{
    for (QCPAxis* axis : {xAxis, yAxis}) // of which the grid is a part
        axis->setVisible(sentence.isEmpty());
    if (nothing_ == nullptr) {
        if (sentence.isEmpty())
            return;
        nothing_ = new QCPItemText(this);
        nothing_->setClipToAxisRect(false);
        nothing_->position->setType(QCPItemPosition::ptViewportRatio);
        nothing_->position->setCoords(0.5, 0.5);
        nothing_->setLayer(QStringLiteral("overlay"));
        retheme();
    }
    nothing_->setText(sentence);
    nothing_->setVisible(!sentence.isEmpty());
    if (!sentence.isEmpty())
        setAccessibleDescription(sentence);
}

QString ThemedPlot::nothing() const
{
    return nothing_ != nullptr ? nothing_->text() : QString();
}

// The ticks of an axis are chosen for its width in the layout before. If that has changed, they are chosen again.
void ThemedPlot::updateLayout()
{
    const int before = axisRect()->width();
    QCustomPlot::updateLayout();
    if (axisRect()->width() != before)
        QCustomPlot::updateLayout();
}

void ThemedPlot::retheme()
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    setBackground(QBrush(p.surface));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setBasePen(QPen(p.strongLine, 1));
        axis->setTickPen(QPen(p.strongLine, 1));
        axis->setTickLabelColor(p.dimText);
        axis->setLabelColor(p.dimText);
        axis->setTickLabelFont(theme.small());
        axis->setLabelFont(theme.small());
        axis->grid()->setPen(QPen(p.grid, 1));
    }
    if (nothing_ != nullptr) {
        nothing_->setFont(theme.body());
        nothing_->setColor(p.dimText);
    }
}

} // namespace tilescope::ui
