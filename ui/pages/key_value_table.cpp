#include "ui/pages/key_value_table.h"

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

void KeyValueTable::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    const QFontMetrics metrics(theme.body());
    const int pad = sizes().padding;
    int keyWidth = 0;
    for (const KeyValueRow& row : rows_)
        if (!row.heading && !row.values.isEmpty())
            keyWidth = std::max(keyWidth, metrics.horizontalAdvance(row.key) + 1);
    keyWidth = std::min(keyWidth, width() / 2);
    const int valuesFrom = pad + keyWidth + pad;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const KeyValueRow& row = rows_[i];
        const QRect rect = rowRect(i);
        if (row.heading) {
            painter.fillRect(rect, p.raised);
            painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 1), p.line);
            painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), p.line);
        }
        painter.setFont(row.heading ? theme.small() : theme.body());
        painter.setPen(p.dimText);
        if (!(valuesLeft_ && row.values.isEmpty()))
            painter.drawText(rect.adjusted(pad, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                             row.heading ? row.key : metrics.elidedText(row.key, Qt::ElideRight, keyWidth));
        if (!row.heading) {
            painter.setPen(p.text);
            painter.setFont(row.strong ? theme.bold() : theme.body());
        }
        const QFontMetrics valueMetrics(painter.font());
        if (valuesLeft_ && row.values.isEmpty()) {
            painter.setPen(p.dimText);
            painter.drawText(rect.adjusted(pad, 0, -pad, 0), Qt::AlignVCenter | Qt::AlignLeft, row.key);
            continue;
        }
        if (valuesLeft_) {
            const QRect value(valuesFrom, rect.top(), width() - valuesFrom - pad, rect.height());
            painter.drawText(value, Qt::AlignVCenter | Qt::AlignLeft,
                             valueMetrics.elidedText(row.values.value(0), Qt::ElideMiddle, value.width()));
            continue;
        }
        const int columns = std::max(1, int(row.values.size()));
        const int columnWidth = columns == 1
                                    ? width() - pad - valuesFrom
                                    : std::min(sizes().of(84), (width() - valuesFrom - pad) / columns);
        for (int c = 0; c < int(row.values.size()); ++c) {
            const int right = width() - pad - (columns - 1 - c) * columnWidth;
            const QRect value(right - columnWidth, rect.top(), columnWidth, rect.height());
            painter.drawText(value, Qt::AlignVCenter | Qt::AlignRight,
                             valueMetrics.elidedText(row.values[c], Qt::ElideMiddle, value.width() - 4));
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
