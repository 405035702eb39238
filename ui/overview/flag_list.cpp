#include "ui/overview/flag_list.h"

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

int rowHeight()
{
    return sizes().of(28);
}

std::pair<Icon, QColor> signOf(Flag::Kind kind)
{
    const Palette& p = colours();
    switch (kind) {
    case Flag::Kind::Fine:
        return {Icon::Check, p.dimText};
    case Flag::Kind::Note:
        return {Icon::Info, p.accent};
    case Flag::Kind::Warning:
        return {Icon::Warning, p.warning};
    case Flag::Kind::Error:
        return {Icon::Error, p.error};
    }
    return {Icon::Info, p.accent};
}

QString linkText(QString page)
{
    if (!page.isEmpty())
        page[0] = page[0].toUpper();
    return page;
}

} // namespace

FlagList::FlagList(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Flags"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void FlagList::show(std::vector<Flag> flags)
{
    flags_ = std::move(flags);
    current_ = 0;
    QStringList words;
    for (const Flag& flag : flags_)
        words << flag.title + QStringLiteral(": ") + flag.sentence();
    setAccessibleDescription(words.join(QStringLiteral(". ")));
    updateGeometry();
    update();
}

QSize FlagList::sizeHint() const
{
    return {sizes().of(300), rowHeight() * int(flags_.size()) + sizes().of(4)};
}

int FlagList::rowAt(int y) const
{
    const int row = y / rowHeight();
    return y >= 0 && row < int(flags_.size()) ? row : -1;
}

void FlagList::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    const int pad = sizes().padding;
    const int titleWidth = sizes().of(104);
    for (int i = 0; i < int(flags_.size()); ++i) {
        const Flag& flag = flags_[std::size_t(i)];
        const QRect rect(0, i * rowHeight(), width(), rowHeight());
        if (hasFocus() && i == current_)
            painter.fillRect(rect, p.selectedRow);
        if (i > 0)
            painter.fillRect(QRect(0, rect.top(), width(), 1), p.grid);
        const int side = sizes().of(14);
        const auto [icon, colour] = signOf(flag.kind);
        paintIcon(painter, icon, QRectF(pad, rect.center().y() - side / 2.0 + 0.5, side, side), colour);
        int x = pad + side + pad;
        painter.setFont(theme.bold());
        painter.setPen(p.text);
        painter.drawText(QRect(x, rect.top(), titleWidth, rect.height()), Qt::AlignVCenter | Qt::AlignLeft,
                         painter.fontMetrics().elidedText(flag.title, Qt::ElideRight, titleWidth));
        x += titleWidth + sizes().of(8);
        painter.setFont(theme.body());
        const QFontMetrics metrics(painter.font());
        const QString link = linkText(flag.page);
        const int linkWidth = link.isEmpty() ? 0 : metrics.horizontalAdvance(link) + pad;
        painter.setPen(p.dimText);
        const QRect text(x, rect.top(), width() - pad - linkWidth - x, rect.height());
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                         metrics.elidedText(flag.sentence(), Qt::ElideRight, text.width()));
        painter.setPen(p.accent);
        painter.drawText(rect.adjusted(0, 0, -pad, 0), Qt::AlignVCenter | Qt::AlignRight, link);
    }
}

void FlagList::mouseReleaseEvent(QMouseEvent* event)
{
    const int row = rowAt(event->position().toPoint().y());
    if (row >= 0 && !flags_[std::size_t(row)].page.isEmpty())
        emit pageWanted(flags_[std::size_t(row)].page);
}

void FlagList::mouseMoveEvent(QMouseEvent* event)
{
    const int row = rowAt(event->position().toPoint().y());
    const bool link = row >= 0 && !flags_[std::size_t(row)].page.isEmpty();
    setCursor(link ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void FlagList::keyPressEvent(QKeyEvent* event)
{
    const int last = int(flags_.size()) - 1;
    if (event->key() == Qt::Key_Down || event->key() == Qt::Key_Up) {
        current_ = std::clamp(current_ + (event->key() == Qt::Key_Down ? 1 : -1), 0, std::max(0, last));
        update();
    } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && current_ <= last) {
        if (!flags_[std::size_t(current_)].page.isEmpty())
            emit pageWanted(flags_[std::size_t(current_)].page);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool FlagList::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const int row = rowAt(help->y()); row >= 0)
            QToolTip::showText(help->globalPos(), flags_[std::size_t(row)].sentence());
        return true;
    }
    return QWidget::event(event);
}

} // namespace tilescope::ui
