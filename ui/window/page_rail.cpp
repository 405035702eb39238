#include "ui/window/page_rail.h"

#include "ui/theme/theme.h"

#include <QButtonGroup>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

RailButton::RailButton(Icon icon, const QString& text, QWidget* parent) : QAbstractButton(parent), icon_(icon)
{
    setText(text);
    setCheckable(true);
    setAutoExclusive(true); // a radio button, for screen readers
    setAccessibleName(text);
    setFocusPolicy(Qt::TabFocus);
    setAttribute(Qt::WA_Hover);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize RailButton::sizeHint() const
{
    return {sizes().rail, sizes().railItem + sizes().of(4)};
}

void RailButton::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    QPainter painter(this);
    if (isChecked()) {
        painter.fillRect(rect(), p.selectedRow);
        painter.fillRect(QRect(0, 0, sizes().of(2), height()), p.text);
    } else if (underMouse()) {
        painter.fillRect(rect(), p.hover);
    }
    const QColor colour = isChecked() ? p.text : p.dimText;
    const int side = sizes().of(20);
    QFont font = Theme::instance().small();
    font.setWeight(isChecked() ? QFont::DemiBold : QFont::Normal);
    // In a low window icon and word move together; where only the icon fits, the tooltip names the page.
    const int gap = sizes().of(3);
    const int spare = height() - side - gap - QFontMetrics(font).height();
    const bool fits = spare >= 0;
    const int top = fits ? std::min(sizes().of(9), spare / 2) : (height() - side) / 2;
    const QRect words(0, top + side + gap, width(), height() - top - side - gap);
    paintIcon(painter, icon_, QRectF((width() - side) / 2.0, top, side, side), colour);
    painter.setFont(font);
    painter.setPen(colour);
    if (fits)
        painter.drawText(words, Qt::AlignHCenter | Qt::AlignTop, text());
    if (hasFocus()) {
        painter.setPen(p.accent);
        painter.drawRect(rect().adjusted(1, 1, -2, -2));
    }
}

QKeySequence pageKey(int index)
{
    constexpr int kDigits = 9;
    if (index < kDigits)
        return QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + index));
    return QKeySequence(Qt::ALT | Qt::Key(Qt::Key_1 + index - kDigits));
}

PageRail::PageRail(QWidget* parent)
    : QWidget(parent), group_(new QButtonGroup(this)), layout_(new QVBoxLayout(this))
{
    setFixedWidth(sizes().rail);
    layout_->setContentsMargins(0, sizes().of(6), 1, sizes().of(6));
    layout_->setSpacing(0);
    layout_->addStretch(1);
    connect(group_, &QButtonGroup::idClicked, this, &PageRail::chosen);
}

void PageRail::add(int id, Icon icon, const QString& text, const QString& shortcut, bool atBottom)
{
    auto* button = new RailButton(icon, text);
    button->setToolTip(shortcut.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, shortcut));
    group_->addButton(button, id);
    if (atBottom)
        layout_->addWidget(button);
    else
        layout_->insertWidget(above_++, button);
}

void PageRail::setCurrent(int id)
{
    if (QAbstractButton* button = group_->button(id))
        button->setChecked(true);
}

void PageRail::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), colours().background);
    painter.fillRect(QRect(width() - 1, 0, 1, height()), colours().line);
}

} // namespace tilescope::ui
