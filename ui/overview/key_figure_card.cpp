#include "ui/overview/key_figure_card.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/table_view.h"
#include "ui/kit/tool_tip.h"
#include "ui/kit/workspace.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

namespace tilescope::ui {

namespace {

constexpr int kLine = 27;

// The small font where the usual one needs more room.
QFont fitting(const QString& text, int width)
{
    const Theme& theme = Theme::instance();
    return QFontMetrics(theme.body()).horizontalAdvance(text) <= width ? theme.body() : theme.small();
}

} // namespace

KeyFigureCard::KeyFigureCard(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::TabFocus);
    setAttribute(Qt::WA_Hover);
    setCursor(Qt::PointingHandCursor);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void KeyFigureCard::show(KeyFigure figure)
{
    figure_ = std::move(figure);
    QStringList tip{joinedWords(figure_.title, figure_.of)};
    for (const KeyFigure::Line& line : figure_.lines) {
        QStringList words{line.letter,
                          line.number + (line.unit.isEmpty() ? QString() : QLatin1Char(' ') + line.unit),
                          line.detail};
        words.removeAll(QString());
        tip << words.join(QLatin1Char(' '));
    }
    if (!figure_.verdict.isEmpty())
        tip << figure_.verdict;
    setAccessibleName(tip.join(QStringLiteral(", ")));
    setAccessibleDescription(figure_.page.isEmpty() ? figure_.title
                                                    : tr("Enter opens the page with the details"));
    setToolTip(tipOfLines(tip));
    updateGeometry();
    update();
}

QSize KeyFigureCard::sizeHint() const
{
    return {sizes().of(160), sizes().of(60 + kLine * double(std::max<std::size_t>(1, figure_.lines.size())))};
}

QSize KeyFigureCard::minimumSizeHint() const
{
    return {sizes().of(120), sizeHint().height()};
}

void KeyFigureCard::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && rect().contains(event->pos()) && !figure_.page.isEmpty())
        emit pageWanted(figure_.page);
}

void KeyFigureCard::keyPressEvent(QKeyEvent* event)
{
    const bool follow =
        event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space;
    if (follow && !figure_.page.isEmpty())
        emit pageWanted(figure_.page);
    else
        QWidget::keyPressEvent(event);
}

void KeyFigureCard::paintLine(QPainter& painter, const KeyFigure::Line& line, const QRect& rect) const
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const QFontMetrics large(theme.large());
    const int baseline = rect.top() + large.ascent();
    int x = rect.left();
    painter.setFont(theme.body());
    if (!line.letter.isEmpty()) {
        painter.setPen(p.dimText);
        painter.drawText(x, baseline, line.letter);
        x += sizes().of(18);
    }
    painter.setFont(theme.large());
    painter.setPen(p.text);
    painter.drawText(x, baseline, line.number);
    x += large.horizontalAdvance(line.number) + sizes().of(4);
    painter.setFont(theme.body());
    const QFontMetrics body(theme.body());
    painter.drawText(x, baseline, line.unit);
    x += body.horizontalAdvance(line.unit) + sizes().of(8);
    painter.setPen(p.dimText);
    const int left = rect.right() - x;
    const QFont font = fitting(line.detail, left);
    painter.setFont(font);
    painter.drawText(QRect(x, baseline - body.ascent(), left, body.height()),
                     Qt::AlignRight | Qt::AlignBottom,
                     elidedText(line.detail, QFontMetrics(font), Qt::ElideRight, left));
}

void KeyFigureCard::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(hasFocus() ? p.accent : underMouse() ? p.strongLine : p.line);
    painter.setBrush(p.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), sizes().radius, sizes().radius);
    const QRect inner = rect().adjusted(sizes().padding, sizes().of(10), -sizes().padding, -sizes().of(8));
    const QFontMetrics body(theme.body());
    painter.setFont(theme.bold());
    painter.setPen(p.text);
    painter.drawText(inner, Qt::AlignLeft | Qt::AlignTop, figure_.title);
    const int titleEnd = QFontMetrics(theme.bold()).horizontalAdvance(figure_.title) + sizes().of(8);
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    painter.drawText(inner.adjusted(titleEnd, 0, 0, 0), Qt::AlignRight | Qt::AlignTop,
                     elidedText(figure_.of, QFontMetrics(theme.small()), Qt::ElideRight,
                                std::max(0, inner.width() - titleEnd)));
    int top = inner.top() + body.height() + sizes().of(2);
    for (const KeyFigure::Line& line : figure_.lines) {
        paintLine(painter, line, QRect(inner.left(), top, inner.width(), sizes().of(kLine)));
        top += sizes().of(kLine);
    }
    if (figure_.verdict.isEmpty())
        return;
    const Toned toned = tonedBy(figure_.tone, p);
    QRect words(inner.left(), inner.bottom() - body.height(), inner.width(), body.height());
    if (toned.sign) {
        const int side = sizes().of(10);
        paintIcon(painter, *toned.sign,
                  QRectF(words.left(), words.center().y() - side / 2.0 + 0.5, side, side), toned.colour);
        words.setLeft(words.left() + side + sizes().of(5));
    }
    const QFont font = fitting(figure_.verdict, words.width());
    painter.setFont(font);
    painter.setPen(toned.colour);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                     elidedText(figure_.verdict, QFontMetrics(font), Qt::ElideRight, words.width()));
}

} // namespace tilescope::ui
