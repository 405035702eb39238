#include "ui/overview/iterations_plot.h"

#include "ui/kit/number_text.h"
#include "ui/kit/time_axis.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::ui {

using query::GenerationRow;
using query::Hue;

namespace {

constexpr int kPlotHigh = 150;    // design pixels
constexpr int kLeftRoom = 52;     // for values
constexpr int kRightRoom = 84;    // for percentiles
constexpr int kTopRoom = 22;      // for the legend
constexpr int kBottomRoom = 22;   // for numbers
constexpr int kWidestBar = 32;    // of an iteration
constexpr double kCutAbove = 1.5; // times the 99th percentile of decode

QColor colourOfType(StepType type)
{
    return colours().hue(type == StepType::Prefill  ? Hue(Hue::Matmul)
                         : type == StepType::Decode ? Hue(Hue::Embedding)
                                                    : Hue(Hue::Other));
}

double wallOf(const GenerationRow& row)
{
    return double(row.wall().count());
}

} // namespace

struct IterationsPlot::Scale {
    QRectF area;
    double most = 1; ///< ns at the top
    double bar = 1;  ///< pixels from one iteration to the next
    std::size_t count = 0;

    double x(std::size_t iteration) const { return area.left() + bar * double(iteration); }
    double y(double time) const { return area.bottom() - area.height() * std::min(1.0, time / most); }
};

IterationsPlot::IterationsPlot(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Times of iterations"));
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void IterationsPlot::show(std::shared_ptr<const query::GenerationTable> generation)
{
    generation_ = std::move(generation);
    QStringList words;
    for (const query::GenerationSummary& summary : generation_->types)
        words << tr("%1 %2 iterations, median %3")
                     .arg(summary.wall.n)
                     .arg(QString::fromUtf8(wordOf(summary.type)), timeText(summary.wall.p50));
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

QSize IterationsPlot::sizeHint() const
{
    return {sizes().of(400), sizes().of(kPlotHigh)};
}

IterationsPlot::Scale IterationsPlot::scale() const
{
    Scale scale;
    scale.area = QRectF(sizes().of(kLeftRoom), sizes().of(kTopRoom),
                        std::max(10, width() - sizes().of(kLeftRoom + kRightRoom)),
                        height() - sizes().of(kTopRoom + kBottomRoom));
    if (!generation_)
        return scale;
    scale.count = generation_->rows.size();
    scale.bar = std::min(double(sizes().of(kWidestBar)),
                         scale.area.width() / double(std::max<std::size_t>(1, scale.count)));
    double most = 0;
    for (const GenerationRow& row : generation_->rows)
        most = std::max(most, wallOf(row));
    const double usual = generation_->perToken ? kCutAbove * generation_->perToken->p99 : most;
    // A single iteration far above the others would hide them; where all are of one kind, all are shown.
    scale.most = std::max(1.0, std::min(most, std::max(usual, 1.0)) * 1.05);
    return scale;
}

const GenerationRow* IterationsPlot::rowAt(double x) const
{
    if (!generation_)
        return nullptr;
    const Scale s = scale();
    if (x < s.area.left() || s.count == 0)
        return nullptr;
    const auto first = std::size_t((x - s.area.left()) / s.bar);
    const auto last = std::max(first + 1, std::size_t(std::ceil((x + 1 - s.area.left()) / s.bar)));
    if (first >= s.count)
        return nullptr;
    const auto begin = generation_->rows.begin() + std::ptrdiff_t(first);
    const auto end = generation_->rows.begin() + std::ptrdiff_t(std::min(last, s.count));
    return &*std::max_element(
        begin, end, [](const GenerationRow& a, const GenerationRow& b) { return wallOf(a) < wallOf(b); });
}

QString IterationsPlot::describe(const GenerationRow& row)
{
    const query::Iteration& iteration = row.iteration;
    QStringList details;
    if (iteration.sequences)
        details << tr("batch %1").arg(*iteration.sequences);
    if (iteration.context)
        details << tr("context %1").arg(std::llround(*iteration.context));
    if (row.onGpu)
        details << tr("GPU %1").arg(timeText(double(row.gpuBusy().count())));
    const QString words = tr("Iteration %1, %2: %3")
                              .arg(iteration.number)
                              .arg(QString::fromUtf8(wordOf(iteration.type)), timeText(wallOf(row)));
    return details.isEmpty() ? words : words + QStringLiteral("; ") + details.join(QStringLiteral(", "));
}

void IterationsPlot::drawBars(QPainter& painter, const Scale& scale) const
{
    const double gap = scale.bar >= 4 ? 1 : 0;
    const auto draw = [&](const GenerationRow& row, double left, double width) {
        const double top = scale.y(wallOf(row));
        painter.fillRect(QRectF(left, top, width, scale.area.bottom() - top),
                         colourOfType(row.iteration.type));
        if (row.onGpu) {
            const double foot = scale.y(double(row.gpuBusy().count()));
            painter.fillRect(QRectF(left, foot, width, scale.area.bottom() - foot), colours().hue(Hue::Busy));
        }
        if (wallOf(row) > scale.most) // cut: two lines of the ground across it
            for (const int at : {4, 8})
                painter.fillRect(QRectF(left, top + sizes().of(at), width, sizes().of(1)), colours().surface);
    };
    if (scale.bar >= 1) {
        for (std::size_t i = 0; i < scale.count; ++i)
            draw(generation_->rows[i], scale.x(i), std::max(1.0, scale.bar - gap));
        return;
    }
    for (double x = scale.area.left(); x < scale.area.right(); ++x)
        if (const GenerationRow* row = rowAt(x))
            draw(*row, x, 1);
}

void IterationsPlot::drawPercentiles(QPainter& painter, const Scale& scale) const
{
    if (!generation_->perToken || generation_->perToken->n < 2)
        return;
    const query::TimeFigures& figures = *generation_->perToken;
    const std::array<std::pair<const char*, double>, 3> lines{
        {{"p99", figures.p99}, {"p90", figures.p90}, {"p50", figures.p50}}};
    const QFontMetrics metrics(painter.font());
    double lowest = 0; // where the words above end
    for (const auto& [word, time] : lines) {
        const double y = scale.y(time);
        painter.setPen(QPen(colours().text, 1, Qt::DashLine));
        painter.drawLine(QPointF(scale.area.left(), y), QPointF(scale.area.right() + sizes().of(4), y));
        const double text = std::max(y + metrics.ascent() / 2.0 - 1, lowest + metrics.height() - 2);
        painter.setPen(colours().text);
        painter.drawText(QPointF(scale.area.right() + sizes().of(8), text),
                         QStringLiteral("%1 %2").arg(QString::fromLatin1(word), timeText(time)));
        lowest = text;
    }
}

void IterationsPlot::drawAxes(QPainter& painter, const Scale& scale) const
{
    const QFontMetrics metrics(painter.font());
    const Unit unit = timeUnit(scale.most);
    for (const double tick : roundSteps(0, scale.most / unit.divisor, 4)) {
        const double y = scale.y(tick * unit.divisor);
        painter.setPen(colours().grid);
        painter.drawLine(QPointF(scale.area.left(), y), QPointF(scale.area.right(), y));
        painter.setPen(colours().dimText);
        painter.drawText(
            QRectF(0, y - metrics.height() / 2.0, scale.area.left() - sizes().of(6), metrics.height()),
            Qt::AlignRight | Qt::AlignVCenter, tickText(tick));
    }
    painter.setPen(colours().dimText);
    painter.drawText(QPointF(sizes().of(10), sizes().of(15)), QString::fromStdString(unit.suffix));
    painter.setPen(colours().strongLine);
    painter.drawLine(scale.area.bottomLeft(), scale.area.bottomRight());
    // Numbers of iterations below their bars.
    painter.setPen(colours().dimText);
    double taken = 0;
    const double step = roundStep(double(sizes().of(60)) / scale.bar);
    for (double place = 0; place < double(scale.count); place += std::max(1.0, step)) {
        const auto index = std::size_t(place);
        const QString words = QString::number(generation_->rows[index].iteration.number);
        const double left = scale.x(index) + scale.bar / 2 - metrics.horizontalAdvance(words) / 2.0;
        if (left < taken)
            continue;
        painter.drawText(QPointF(left, scale.area.bottom() + sizes().of(15)), words);
        taken = left + metrics.horizontalAdvance(words) + sizes().of(8);
    }
}

void IterationsPlot::drawLegend(QPainter& painter) const
{
    const QFontMetrics metrics(painter.font());
    double right = width() - sizes().of(kRightRoom);
    const auto entry = [&](const QString& words, const QColor& colour) {
        right -= metrics.horizontalAdvance(words);
        painter.setPen(colours().dimText);
        painter.drawText(QPointF(right, sizes().of(15)), words);
        right -= sizes().of(14);
        painter.fillRect(QRectF(right, sizes().of(6), sizes().of(9), sizes().of(9)), colour);
        right -= sizes().of(14);
    };
    if (std::ranges::any_of(generation_->rows, [](const GenerationRow& row) { return row.onGpu; }))
        entry(tr("of it GPU busy"), colours().hue(Hue::Busy));
    for (auto summary = generation_->types.rbegin(); summary != generation_->types.rend(); ++summary)
        entry(QString::fromUtf8(wordOf(summary->type)), colourOfType(summary->type));
}

void IterationsPlot::paintEvent(QPaintEvent*)
{
    if (!generation_ || generation_->rows.empty())
        return;
    QPainter painter(this);
    painter.setFont(Theme::instance().body());
    const Scale s = scale();
    drawAxes(painter, s);
    drawBars(painter, s);
    drawPercentiles(painter, s);
    drawLegend(painter);
}

bool IterationsPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const GenerationRow* row = rowAt(help->pos().x()))
        QToolTip::showText(help->globalPos(), describe(*row), this);
    else
        QToolTip::hideText();
    return true;
}

} // namespace tilescope::ui
