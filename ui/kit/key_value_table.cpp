#include "ui/kit/key_value_table.h"

#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kBeside = 4; // pixels between values

int rowHeight()
{
    return sizes().of(22);
}

} // namespace

KeyValueTable::KeyValueTable(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void KeyValueTable::setRows(std::vector<KeyValueRow> rows, bool valuesLeft)
{
    rows_ = std::move(rows);
    valuesLeft_ = valuesLeft;
    updateGeometry();
    update();
}

QSize KeyValueTable::sizeHint() const
{
    return {sizes().of(200), rowHeight() * int(rows_.size())};
}

QSize KeyValueTable::minimumSizeHint() const
{
    return {sizes().of(120), rowHeight() * int(rows_.size())};
}

QRect KeyValueTable::rowRect(std::size_t row) const
{
    return {0, int(row) * rowHeight(), width(), rowHeight()};
}

QFont KeyValueTable::fontOf(const KeyValueRow& row)
{
    const Theme& theme = Theme::instance();
    return row.heading ? theme.small() : row.strong ? theme.bold() : theme.body();
}

// If the width is too small, keys are elided before values.
int KeyValueTable::keyWidth() const
{
    const QFontMetrics metrics(Theme::instance().body());
    const int all = width() - 3 * sizes().padding;
    int keys = 0;
    int values = 0;
    for (const KeyValueRow& row : rows_) {
        if (row.heading || row.values.isEmpty())
            continue;
        keys = std::max(keys, metrics.horizontalAdvance(row.key) + 1);
        if (valuesLeft_)
            continue;
        int widest = 0;
        for (const QString& value : row.values)
            widest = std::max(widest, QFontMetrics(fontOf(row)).horizontalAdvance(value) + kBeside);
        // What is elided beside the narrowest keys as well takes nothing from them.
        if (const int needed = widest * int(row.values.size()); needed <= all - width() / 4)
            values = std::max(values, needed);
    }
    const int room = all - values;
    return std::min({keys, width() / 2, std::max(width() / 4, room)});
}

QRect KeyValueTable::valueRect(std::size_t index, int value) const
{
    const KeyValueRow& row = rows_[index];
    const QRect rect = rowRect(index);
    const int pad = sizes().padding;
    const int from = pad + keyWidth() + pad;
    const int columns = std::max(1, int(row.values.size()));
    if (valuesLeft_ || columns == 1)
        return {from, rect.top(), width() - from - pad, rect.height()};
    const int columnWidth = std::min(sizes().of(84), (width() - from - pad) / columns);
    const int right = width() - pad - (columns - 1 - value) * columnWidth;
    return {right - columnWidth, rect.top(), columnWidth, rect.height()};
}

bool KeyValueTable::isElided(std::size_t row, int value) const
{
    const int beside = valuesLeft_ ? 0 : kBeside;
    return QFontMetrics(fontOf(rows_[row])).horizontalAdvance(rows_[row].values[value]) + beside >
           valueRect(row, value).width();
}

void KeyValueTable::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    QPainter painter(this);
    const int pad = sizes().padding;
    const int keys = keyWidth();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const KeyValueRow& row = rows_[i];
        const QRect rect = rowRect(i);
        if (row.heading) {
            painter.fillRect(rect, p.raised);
            painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 1), p.line);
            painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), p.line);
        }
        painter.setPen(p.dimText);
        painter.setFont(row.heading ? fontOf(row) : Theme::instance().body());
        const QFontMetrics keyMetrics(painter.font());
        const bool isAlone = valuesLeft_ && row.values.isEmpty();
        painter.drawText(rect.adjusted(pad, 0, isAlone ? -pad : 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                         row.heading || isAlone ? row.key
                                                : elidedText(row.key, keyMetrics, Qt::ElideRight, keys));
        painter.setFont(fontOf(row));
        if (!row.heading)
            painter.setPen(p.text);
        const QFontMetrics metrics(painter.font());
        for (int c = 0; c < int(row.values.size()); ++c) {
            const QRect value = valueRect(i, c);
            const int room = value.width() - (valuesLeft_ ? 0 : kBeside);
            painter.drawText(value, Qt::AlignVCenter | (valuesLeft_ ? Qt::AlignLeft : Qt::AlignRight),
                             elidedText(row.values[c], metrics, Qt::ElideMiddle, room));
        }
    }
}

bool KeyValueTable::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto row = std::size_t(help->y() / rowHeight());
        if (row < rows_.size() && !rows_[row].heading)
            QToolTip::showText(help->globalPos(), rows_[row].key + QStringLiteral(": ") +
                                                      rows_[row].values.join(QStringLiteral(", ")));
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void KeyValueTable::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    menu.addAction(tr("Copy as table"), this, [this] {
        QString text;
        for (const KeyValueRow& row : rows_)
            text += row.key + QLatin1Char('\t') + row.values.join(QLatin1Char('\t')) + QLatin1Char('\n');
        QApplication::clipboard()->setText(text);
    });
    menu.exec(event->globalPos());
}

} // namespace tilescope::ui
