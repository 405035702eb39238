#include "ui/plots/themed_plot.h"

#include "ui/plots/copy_menu.h"
#include "ui/plots/number_text.h"
#include "ui/plots/plot_vectors.h"
#include "ui/plots/vector_drawing.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>

#include <cmath>

namespace tilescope::ui {

QString NumberTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    // Ticks carry rounding errors of the sums that made them.
    const double rounded = std::abs(tick) < 1e-12 ? 0 : tick;
    QString text = QString::number(rounded, 'g', 6);
    if (text.contains(QLatin1Char('e')) || std::abs(rounded) >= 10000)
        text = threeDigits(rounded);
    return text.replace(QLatin1Char('-'), QChar(0x2212));
}

PowerTicker::PowerTicker(double base)
{
    setLogBase(base);
    setSubTickCount(base == 10 ? 8 : 0);
}

QString PowerTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tick >= 1 ? wholeNumber(std::int64_t(std::llround(tick))) : QString::number(tick, 'g', 3);
}

ThemedPlot::ThemedPlot(QWidget* parent) : QCustomPlot(parent)
{
    setMinimumSize(sizes().of(240), sizes().of(140));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setTicker(QSharedPointer<NumberTicker>::create());
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
}

} // namespace tilescope::ui
