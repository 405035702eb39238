#include "ui/overview/flag_list.h"

#include "ui/kit/elided_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

int leastRowHeight()
{
    return sizes().of(28);
}

constexpr double kTitle = 104; // design pixels

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

// Left of the text: sign and title.
int FlagList::textLeft()
{
    return 2 * sizes().padding + sizes().of(14 + kTitle + 8);
}

int FlagList::linkWidth(const Flag& flag)
{
    const QString link = linkText(flag.page);
    return link.isEmpty() ? 0
                          : QFontMetrics(Theme::instance().body()).horizontalAdvance(link) + sizes().padding;
}

// Rows are as high as their wrapped texts.
void FlagList::layRows()
{
    const QFontMetrics metrics(Theme::instance().body());
    tops_ = {0};
    for (const Flag& flag : flags_) {
        const QRect room(0, 0, std::max(1, width() - sizes().padding - linkWidth(flag) - textLeft()), 10'000);
        const int text = metrics.boundingRect(room, Qt::TextWordWrap, unbroken(flag.sentence())).height();
        tops_.push_back(tops_.back() + std::max(leastRowHeight(), text + sizes().of(10)));
    }
    setFixedHeight(tops_.back() + sizes().of(4));
}

void FlagList::resizeEvent(QResizeEvent*)
{
    layRows();
}

void FlagList::show(std::vector<Flag> flags)
{
    flags_ = std::move(flags);
    current_ = 0;
    QStringList words;
    for (const Flag& flag : flags_)
        words << flag.title + QStringLiteral(": ") + flag.sentence();
    setAccessibleDescription(words.join(QStringLiteral(". ")));
    layRows();
    update();
}

QSize FlagList::sizeHint() const
{
    return {sizes().of(300), tops_.back() + sizes().of(4)};
}

int FlagList::rowAt(int y) const
{
    const auto row = int(std::ranges::upper_bound(tops_, y) - tops_.begin()) - 1;
    return row >= 0 && row < int(flags_.size()) ? row : -1;
}

void FlagList::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    const int pad = sizes().padding;
    const int titleWidth = sizes().of(kTitle);
    for (int i = 0; i < int(flags_.size()); ++i) {
        const Flag& flag = flags_[std::size_t(i)];
        const auto row = std::size_t(i);
        const QRect rect(0, tops_[row], width(), tops_[row + 1] - tops_[row]);
        const QRect firstLine(rect.left(), rect.top(), rect.width(), leastRowHeight());
        if (hasFocus() && i == current_)
            painter.fillRect(rect, p.selectedRow);
        if (i > 0)
            painter.fillRect(QRect(0, rect.top(), width(), 1), p.grid);
        const int side = sizes().of(14);
        const auto [icon, colour] = signOf(flag.kind);
        paintIcon(painter, icon, QRectF(pad, firstLine.center().y() - side / 2.0 + 0.5, side, side), colour);
        painter.setFont(theme.bold());
        painter.setPen(p.text);
        painter.drawText(QRect(pad + side + pad, firstLine.top(), titleWidth, firstLine.height()),
                         Qt::AlignVCenter | Qt::AlignLeft,
                         elidedText(flag.title, painter.fontMetrics(), Qt::ElideRight, titleWidth));
        painter.setFont(theme.body());
        painter.setPen(p.dimText);
        painter.drawText(rect.adjusted(textLeft(), 0, -pad - linkWidth(flag), 0),
                         Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap, unbroken(flag.sentence()));
        painter.setPen(p.accent);
        painter.drawText(firstLine.adjusted(0, 0, -pad, 0), Qt::AlignVCenter | Qt::AlignRight,
                         linkText(flag.page));
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
