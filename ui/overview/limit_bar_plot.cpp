#include "ui/overview/limit_bar_plot.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_delegate.h"
#include "ui/kit/time_axis.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kHeight = 118; // design pixels
constexpr int kBarHeight = 28;
constexpr int kVariantRow = 20;
constexpr int kVariantBar = 16;
constexpr int kBelowBar = 22; // the words of the failed request
constexpr int kTicks = 6;
constexpr double kMostBeyond =
    1.5; // a need far beyond the limit would hide the rest: its box then stays open

} // namespace

struct LimitBarPlot::Scale {
    QRectF bar;
    double most = 1; ///< bytes at the right end
    double end = 0;  ///< lower edge of the last bar

    double x(double bytes) const { return bar.left() + bar.width() * bytes / most; }
    QRectF part(double from, double to) const { return {x(from), bar.top(), x(to) - x(from), bar.height()}; }
};

LimitBarPlot::LimitBarPlot(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Memory up to the limit"));
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void LimitBarPlot::show(LimitBar bar)
{
    bar_ = std::move(bar);
    variants_.clear();
    describe();
    updateGeometry();
    update();
}

void LimitBarPlot::showVariants(std::vector<LimitVariant> variants)
{
    variants_ = std::move(variants);
    describe();
    updateGeometry();
    update();
}

void LimitBarPlot::describe()
{
    QStringList words;
    for (const LimitPart& part : bar_.parts)
        words << QStringLiteral("%1 %2").arg(part.label, byteText(part.bytes));
    if (bar_.asked > 0)
        words << tr("failed request %1").arg(byteText(bar_.asked));
    if (bar_.limit)
        words << tr("limit %1").arg(byteText(*bar_.limit));
    for (const LimitVariant& variant : variants_)
        words << variant.words;
    setAccessibleDescription(words.join(QStringLiteral(", ")));
}

QSize LimitBarPlot::sizeHint() const
{
    return {sizes().of(400), sizes().of(kHeight) + int(variants_.size()) * sizes().of(kVariantRow)};
}

LimitBarPlot::Scale LimitBarPlot::scale() const
{
    Scale scale;
    scale.bar = QRectF(sizes().padding, sizes().of(30), width() - 2 * sizes().padding - sizes().of(20),
                       sizes().of(kBarHeight));
    const double present = std::max({bar_.held() + bar_.asked, bar_.limit.value_or(0), 1.0});
    scale.most = std::clamp(bar_.needed.value_or(0), present, kMostBeyond * present);
    scale.end = scale.bar.bottom();
    if (!variants_.empty())
        scale.end += sizes().of(kBelowBar) + int(variants_.size()) * sizes().of(kVariantRow);
    return scale;
}

QRectF LimitBarPlot::variantBox(std::size_t variant) const
{
    if (variant >= variants_.size())
        return {};
    const Scale s = scale();
    const double top = s.bar.bottom() + sizes().of(kBelowBar) + double(variant) * sizes().of(kVariantRow);
    const double right = s.x(std::min(variants_[variant].bytes, s.most));
    return {s.bar.left(), top, std::max(2.0, right - s.bar.left()), double(sizes().of(kVariantBar))};
}

const LimitVariant* LimitBarPlot::variantAt(QPointF at) const
{
    for (std::size_t i = 0; i < variants_.size(); ++i) {
        QRectF row = variantBox(i);
        row.setRight(width()); // its words too
        if (row.contains(at))
            return &variants_[i];
    }
    return nullptr;
}

void LimitBarPlot::drawParts(QPainter& painter, const Scale& scale) const
{
    double from = 0;
    for (const LimitPart& part : bar_.parts) {
        const QRectF box = scale.part(from, from + part.bytes);
        const QColor fill = colourOf(part.swatch, colours());
        painter.fillRect(box, fill);
        const QString words = QStringLiteral("%1 %2").arg(part.label, byteText(part.bytes));
        const QFontMetrics metrics(painter.font());
        const double room = box.width() - sizes().of(10);
        painter.setPen(textOn(fill));
        const QRectF inner = box.adjusted(sizes().of(5), 0, -sizes().of(5), 0);
        if (metrics.horizontalAdvance(words) <= room)
            painter.drawText(inner, Qt::AlignVCenter | Qt::AlignLeft, words);
        else if (metrics.horizontalAdvance(part.label) <= room)
            painter.drawText(inner, Qt::AlignVCenter | Qt::AlignLeft, part.label);
        from += part.bytes;
    }
}

// The failed request hatched on top of what was held; dashed: what the rest of the step would have taken.
void LimitBarPlot::drawRequest(QPainter& painter, const Scale& scale) const
{
    const double held = bar_.held();
    const QColor colour = colours().warning;
    if (bar_.asked > 0) {
        const QRectF box = scale.part(held, held + bar_.asked);
        painter.fillRect(box, QBrush(colour, Qt::BDiagPattern));
        painter.setPen(colour);
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        const QString words = tr("failed request %1").arg(byteText(bar_.asked));
        const double width = QFontMetrics(painter.font()).horizontalAdvance(words);
        const double left = std::clamp(box.center().x() - width / 2, scale.bar.left(),
                                       std::max(scale.bar.left(), scale.bar.right() - width));
        painter.drawText(QPointF(left, scale.bar.bottom() + sizes().of(15)), words);
    }
    if (bar_.needed && *bar_.needed > held + bar_.asked) {
        const QRectF box =
            scale.part(held + bar_.asked, std::min(*bar_.needed, scale.most)).adjusted(0.5, 0.5, -0.5, -0.5);
        painter.setPen(QPen(colours().dimText, 1, Qt::DashLine));
        painter.drawLine(box.topLeft(), box.topRight());
        painter.drawLine(box.bottomLeft(), box.bottomRight());
        if (*bar_.needed <= scale.most)
            painter.drawLine(box.topRight(), box.bottomRight());
    }
}

void LimitBarPlot::drawVariants(QPainter& painter, const Scale& scale) const
{
    using State = LimitVariant::State;
    const QFontMetrics metrics(painter.font());
    for (std::size_t i = 0; i < variants_.size(); ++i) {
        const LimitVariant& variant = variants_[i];
        const QRectF box = variantBox(i);
        const QColor fill = colourOf(Swatch::neutral(), colours());
        const bool isMeasured = variant.state == State::Measured;
        if (isMeasured) {
            painter.fillRect(box, fill);
        } else {
            painter.setPen(QPen(variant.state == State::Failed ? colours().warning : colours().dimText, 1,
                                Qt::DashLine));
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        // To the right of the bar up to the limit, or inside the bar if it has more space.
        const double gap = sizes().of(5);
        const double limit = bar_.limit ? scale.x(*bar_.limit) - gap : 0;
        const double beside = (limit > box.right() ? limit : scale.bar.right()) - box.right() - gap;
        const bool isInside = metrics.horizontalAdvance(variant.words) > beside && box.width() > beside;
        const QRectF place = isInside ? box.adjusted(gap, 0, -gap, 0)
                                      : QRectF(box.right() + gap, box.top(), beside, box.height());
        painter.setPen(isInside && isMeasured           ? textOn(fill)
                       : variant.state == State::Failed ? colours().warning
                       : isMeasured                     ? colours().text
                                                        : colours().dimText);
        painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft,
                         elidedText(variant.words, metrics, Qt::ElideRight, int(place.width())));
    }
}

void LimitBarPlot::drawLimit(QPainter& painter, const Scale& scale) const
{
    const QFontMetrics metrics(painter.font());
    const double baseline = scale.bar.top() - sizes().of(8);
    double taken = scale.bar.left(); // right end of the text before
    const auto label = [&](double bytes, const QString& words, const QColor& colour, bool before) {
        const double width = metrics.horizontalAdvance(words);
        double left = before ? scale.x(bytes) - width - sizes().of(4) : scale.x(bytes) + sizes().of(4);
        left = std::clamp(left, scale.bar.left(),
                          std::max(scale.bar.left(), this->width() - width - sizes().of(4)));
        if (!before && left < taken)
            return; // no room beside the limit; the card shows the number
        painter.setPen(colour);
        painter.drawText(QPointF(left, baseline), words);
        taken = left + width + sizes().of(8);
    };
    if (bar_.limit) {
        painter.setPen(QPen(colours().warning, sizes().of(2)));
        painter.drawLine(QPointF(scale.x(*bar_.limit), scale.bar.top() - sizes().of(5)),
                         QPointF(scale.x(*bar_.limit), scale.bar.bottom())); // words are below
        if (!variants_.empty())
            painter.drawLine(QPointF(scale.x(*bar_.limit), scale.bar.bottom() + sizes().of(kBelowBar)),
                             QPointF(scale.x(*bar_.limit), scale.end));
        label(*bar_.limit, tr("limit %1").arg(byteText(*bar_.limit)), colours().warning, true);
    }
    if (bar_.needed) {
        const QString words = tr("needed %1, predicted").arg(byteText(*bar_.needed));
        // The arrow says that the end of the box is beyond the axis.
        const bool ends = *bar_.needed <= scale.most;
        label(std::min(*bar_.needed, scale.most), ends ? words : words + QStringLiteral(" \u2192"),
              colours().dimText, true);
    }
}

void LimitBarPlot::drawAxis(QPainter& painter, const Scale& scale) const
{
    const double y = variants_.empty() ? scale.bar.bottom() + sizes().of(24) : scale.end + sizes().of(4);
    const Unit unit = byteUnit(scale.most);
    const std::vector<double> ticks = roundSteps(0, scale.most / unit.divisor, kTicks);
    painter.setPen(colours().strongLine);
    painter.drawLine(QPointF(scale.bar.left(), y), QPointF(scale.bar.right(), y));
    const QFontMetrics metrics(painter.font());
    double taken = 0;
    for (const double tick : ticks) {
        const double x = scale.x(tick * unit.divisor);
        const QString words = tick == ticks.back() ? withUnit(tickText(tick), unit.suffix) : tickText(tick);
        const double left = x - metrics.horizontalAdvance(words) / 2.0;
        painter.setPen(colours().strongLine);
        painter.drawLine(QPointF(x, y), QPointF(x, y + sizes().of(4)));
        if (left < taken)
            continue;
        painter.setPen(colours().dimText);
        painter.drawText(QPointF(std::max(2.0, left), y + sizes().of(18)), words);
        taken = left + metrics.horizontalAdvance(words) + sizes().of(6);
    }
}

void LimitBarPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setFont(Theme::instance().body());
    const Scale s = scale();
    painter.fillRect(s.bar, colours().laneGround);
    drawParts(painter, s);
    drawRequest(painter, s);
    drawVariants(painter, s);
    drawLimit(painter, s);
    drawAxis(painter, s);
}

bool LimitBarPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const Scale s = scale();
    if (const LimitVariant* variant = variantAt(help->pos())) {
        QToolTip::showText(help->globalPos(),
                           variant->state == LimitVariant::State::Predicted
                               ? variant->words
                               : tr("%1; a click opens the run").arg(variant->words),
                           this);
        return true;
    }
    double from = 0;
    for (const LimitPart& part : bar_.parts) {
        if (s.part(from, from + part.bytes).contains(help->pos())) {
            QToolTip::showText(help->globalPos(),
                               QStringLiteral("%1 %2").arg(part.label, byteText(part.bytes)), this);
            return true;
        }
        from += part.bytes;
    }
    QToolTip::hideText();
    return true;
}

void LimitBarPlot::mousePressEvent(QMouseEvent* event)
{
    const LimitVariant* variant = variantAt(event->position());
    if (event->button() == Qt::LeftButton && variant != nullptr)
        emit variantClicked(variant->suggestion);
    else
        QWidget::mousePressEvent(event);
}

void LimitBarPlot::mouseMoveEvent(QMouseEvent* event)
{
    const LimitVariant* variant = variantAt(event->position());
    const bool leads = variant != nullptr && variant->state != LimitVariant::State::Predicted;
    setCursor(leads ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

} // namespace tilescope::ui
