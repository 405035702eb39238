#include "ui/kernels/stall_bar.h"

#include "ui/kernels/inside_rows.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

StallBar::StallBar(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Issue slots"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StallBar::show(double issued, std::vector<query::InsidePart> empty, std::optional<double> before)
{
    issued_ = issued;
    empty_ = std::move(empty);
    before_ = before;
    updateGeometry();
    QStringList words;
    for (const Box& box : boxes())
        words << box.title + QLatin1Char(' ') + percentText(box.share);
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    update();
}

QSize StallBar::sizeHint() const
{
    const int words = before_ ? QFontMetrics(Theme::instance().small()).height() + 2 : 0;
    return {sizes().of(300), sizes().of(20) + words};
}

QSize StallBar::minimumSizeHint() const
{
    return {sizes().of(120), sizeHint().height()};
}

std::vector<StallBar::Box> StallBar::boxes() const
{
    const double height = sizes().of(18);
    double at = 0;
    std::vector<Box> made;
    const auto add = [&](const QString& title, double share, query::Hue hue) {
        made.push_back({QRectF(at * width(), 0, share * width(), height), title, share, hue});
        at += share;
    };
    add(tr("used"), issued_, query::Hue::Busy);
    std::int64_t whole = 0;
    for (const query::InsidePart& part : empty_)
        whole += part.samples;
    for (const query::InsidePart& part : empty_)
        if (part.unissued > 0)
            add(stateText(part.reason), double(part.unissued) / double(whole), hueOfState(part.reason));
    return made;
}

void StallBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& p = colours();
    const QFont small = Theme::instance().small();
    const QFontMetrics metrics(small);
    painter.setFont(small);
    for (const Box& box : boxes()) {
        const QColor fill = p.hue(box.hue);
        painter.fillRect(box.rect.adjusted(0, 0, box.rect.width() > 3 ? -1 : 0, 0), fill);
        const QString figure = percentText(box.share);
        const QString text = box.hue == query::Hue::Busy ? box.title + QLatin1Char(' ') + figure : figure;
        if (metrics.horizontalAdvance(text) + sizes().of(8) > box.rect.width())
            continue;
        painter.setPen(textOn(fill));
        painter.drawText(box.rect, Qt::AlignCenter | Qt::TextSingleLine, text);
    }
    if (!before_)
        return;
    const double x = *before_ * width();
    painter.setPen(QPen(p.text, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, 0), QPointF(x, sizes().of(20)));
    painter.setPen(p.dimText);
    const QString text = tr("A %1").arg(percentText(*before_));
    const double left = std::clamp(x - metrics.horizontalAdvance(text) / 2.0, 0.0,
                                   std::max(0.0, double(width() - metrics.horizontalAdvance(text))));
    painter.drawText(QPointF(left, sizes().of(20) + metrics.ascent()), text);
}

bool StallBar::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto& help = static_cast<QHelpEvent&>(*event);
    QString tip;
    for (const Box& box : boxes())
        if (box.rect.contains(help.pos()))
            tip = box.title + QStringLiteral(": ") + percentText(box.share);
    QToolTip::showText(help.globalPos(), tip, this);
    return true;
}

} // namespace tilescope::ui
