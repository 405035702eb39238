#include "ui/kit/key_value_table.h"

#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QRegularExpression>
#include <QScrollArea>
#include <QTextLayout>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kBeside = 4;          // pixels between values
constexpr qsizetype kMostLines = 5; // of a key or a value; a longer one is elided

int rowHeight()
{
    return sizes().of(22);
}

// The lines of a text. No line ends between a number and its unit.
QStringList wrapped(QString text, const QFont& font, int width)
{
    static const QRegularExpression unit(QStringLiteral("(?<=[0-9])[ \\x{2009}](?=[0-9A-Za-zµ%])"));
    text.replace(unit, QString(QChar(0x00A0)));
    QTextLayout layout(text, font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    layout.beginLayout();
    QStringList lines;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        lines << text.mid(line.textStart(), line.textLength()).trimmed();
    }
    layout.endLayout();
    return lines;
}

} // namespace

KeyValueTable::KeyValueTable(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    setFocusPolicy(Qt::TabFocus);
    setAccessibleName(tr("Details"));
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        layRows();
        update();
    });
}

void KeyValueTable::setRows(std::vector<KeyValueRow> rows, bool valuesLeft)
{
    rows_ = std::move(rows);
    valuesLeft_ = valuesLeft;
    current_ = 0;
    if (!rows_.empty() && rows_.front().heading)
        moveCurrent(1);
    layRows();
    describe();
    update();
}

// Skips headings.
bool KeyValueTable::moveCurrent(int by)
{
    for (auto to = std::ptrdiff_t(current_) + by; to >= 0 && to < std::ssize(rows_); to += by)
        if (!rows_[std::size_t(to)].heading) {
            current_ = std::size_t(to);
            return true;
        }
    return false;
}

void KeyValueTable::showCurrent()
{
    describe();
    update();
    if (current_ >= rows_.size())
        return;
    for (QWidget* around = parentWidget(); around != nullptr; around = around->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(around)) {
            const QPoint middle = mapTo(area->widget(), rowRect(current_).center());
            return area->ensureVisible(0, middle.y(), 0, rowHeight());
        }
}

// For screen readers: the current row while it has the focus, otherwise all rows.
void KeyValueTable::describe()
{
    QStringList lines;
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (!hasFocus() || i == current_)
            lines << (rows_[i].values.isEmpty()
                          ? rows_[i].key
                          : rows_[i].key + QStringLiteral(": ") + rows_[i].values.join(QStringLiteral(", ")));
    setAccessibleDescription(lines.isEmpty() ? tr("nothing is selected") : lines.join(QLatin1Char('\n')));
}

int KeyValueTable::heightOf(std::size_t row) const
{
    const auto lines = int(std::max(lines_[row].size(), keyLines_[row].size()));
    return lines < 2 ? rowHeight() : lines * QFontMetrics(fontOf(rows_[row])).lineSpacing() + sizes().of(6);
}

// Rows are as high as their lines.
void KeyValueTable::layRows()
{
    const int before = tops_.back();
    lines_.assign(rows_.size(), {});
    keyLines_.assign(rows_.size(), {});
    const int keys = keyWidth();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const KeyValueRow& row = rows_[i];
        const bool isAlone = valuesLeft_ && row.values.isEmpty();
        const QFont& keyFont = Theme::instance().body();
        if (!row.heading && !isAlone && keys > sizes().of(40) &&
            QFontMetrics(keyFont).horizontalAdvance(row.key) > keys)
            keyLines_[i] = wrapped(row.key, keyFont, keys);
        if (keyLines_[i].size() > kMostLines)
            keyLines_[i].clear();
        if (row.heading || (row.values.size() != 1 && !isAlone))
            continue;
        const int room = isAlone ? width() - 2 * sizes().padding : valueSpan(i, 0).second - kBeside;
        const QString& text = isAlone ? row.key : row.values.front();
        if (room < sizes().of(40) || QFontMetrics(fontOf(row)).horizontalAdvance(text) <= room)
            continue;
        lines_[i] = wrapped(text, fontOf(row), room);
        if (lines_[i].size() > kMostLines)
            lines_[i].clear();
    }
    tops_ = {0};
    for (std::size_t i = 0; i < rows_.size(); ++i)
        tops_.push_back(tops_.back() + heightOf(i));
    updateGeometry();
    if (tops_.back() != before)
        emit heightChanged();
}

void KeyValueTable::resizeEvent(QResizeEvent* event)
{
    if (event->size().width() != event->oldSize().width())
        layRows();
}

QSize KeyValueTable::sizeHint() const
{
    return {sizes().of(200), tops_.back()};
}

QSize KeyValueTable::minimumSizeHint() const
{
    return {sizes().of(120), tops_.back()};
}

QRect KeyValueTable::rowRect(std::size_t row) const
{
    return {0, tops_[row], width(), tops_[row + 1] - tops_[row]};
}

QFont KeyValueTable::fontOf(const KeyValueRow& row)
{
    const Theme& theme = Theme::instance();
    return row.heading ? theme.small() : row.strong ? theme.bold() : theme.body();
}

// If the width is too small, keys take several lines before values are elided.
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
        // A value that is elided even beside the narrowest keys does not narrow the keys.
        if (const int needed = widest * int(row.values.size()); needed <= all - width() / 4)
            values = std::max(values, needed);
    }
    // Keys get the width that values leave.
    return std::min(keys, valuesLeft_ ? width() / 2 : std::max(width() / 4, all - values));
}

// For values side by side: the width of the widest, limited by the available space.
int KeyValueTable::columnWidth(int columns) const
{
    int widest = sizes().of(84);
    for (const KeyValueRow& row : rows_)
        for (const QString& value : row.values)
            if (int(row.values.size()) == columns)
                widest = std::max(widest, QFontMetrics(fontOf(row)).horizontalAdvance(value) + 2 * kBeside);
    return std::min(widest, (width() - keyWidth() - 3 * sizes().padding) / columns);
}

// Left edge and width.
std::pair<int, int> KeyValueTable::valueSpan(std::size_t index, int value) const
{
    const KeyValueRow& row = rows_[index];
    const int pad = sizes().padding;
    const int from = pad + keyWidth() + pad;
    const int columns = std::max(1, int(row.values.size()));
    if (valuesLeft_ || columns == 1)
        return {from, width() - from - pad};
    const int column = columnWidth(columns);
    return {width() - pad - (columns - value) * column, column};
}

QRect KeyValueTable::valueRect(std::size_t row, int value) const
{
    const QRect rect = rowRect(row);
    const auto [left, wide] = valueSpan(row, value);
    return {left, rect.top(), wide, rect.height()};
}

bool KeyValueTable::isElided(std::size_t row, int value) const
{
    if (!lines_[row].isEmpty())
        return false;
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
        if (i == current_ && hasFocus() && !row.heading)
            painter.fillRect(rect, p.selectedRow);
        painter.setPen(p.dimText);
        painter.setFont(row.heading ? fontOf(row) : Theme::instance().body());
        const QFontMetrics keyMetrics(painter.font());
        const bool isAlone = valuesLeft_ && row.values.isEmpty();
        const QRect keyLine(rect.left(), rect.top(), rect.width(), rowHeight());
        if (!keyLines_[i].isEmpty())
            painter.drawText(rect.adjusted(pad, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                             keyLines_[i].join(QLatin1Char('\n')));
        else if (isAlone && !lines_[i].isEmpty())
            painter.drawText(rect.adjusted(pad, 0, -pad, 0), Qt::AlignVCenter | Qt::AlignLeft,
                             lines_[i].join(QLatin1Char('\n')));
        else
            painter.drawText(
                keyLine.adjusted(pad, 0, isAlone ? -pad : 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                row.heading || isAlone ? row.key : elidedText(row.key, keyMetrics, Qt::ElideRight, keys));
        painter.setFont(fontOf(row));
        if (!row.heading)
            painter.setPen(row.dim ? p.dimText : p.text);
        if (!isAlone && !lines_[i].isEmpty()) {
            painter.drawText(valueRect(i, 0), Qt::AlignVCenter | Qt::AlignLeft,
                             lines_[i].join(QLatin1Char('\n')));
            continue;
        }
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
        const auto row = std::size_t(std::ranges::upper_bound(tops_, help->y()) - tops_.begin()) - 1;
        if (row < rows_.size() && !rows_[row].heading)
            QToolTip::showText(help->globalPos(), rows_[row].key + QStringLiteral(": ") +
                                                      rows_[row].values.join(QStringLiteral(", ")));
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void KeyValueTable::keyPressEvent(QKeyEvent* event)
{
    if (rows_.empty())
        return QWidget::keyPressEvent(event);
    if (event->matches(QKeySequence::Copy)) {
        QApplication::clipboard()->setText(rows_[current_].values.join(QLatin1Char('\t')));
        return;
    }
    const bool moves = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down;
    if (!moves || !moveCurrent(event->key() == Qt::Key_Up ? -1 : 1))
        return QWidget::keyPressEvent(event);
    showCurrent();
}

void KeyValueTable::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    showCurrent();
}

void KeyValueTable::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    describe();
}

void KeyValueTable::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const auto under =
        byKey ? current_ : std::size_t(std::ranges::upper_bound(tops_, event->y()) - tops_.begin()) - 1;
    if (under < rows_.size() && !rows_[under].values.isEmpty())
        menu.addAction(tr("Copy value"), this, [values = rows_[under].values] {
            QApplication::clipboard()->setText(values.join(QLatin1Char('\t')));
        });
    menu.addAction(tr("Copy as table"), this, [this] {
        QString text;
        for (const KeyValueRow& row : rows_)
            text += row.key + QLatin1Char('\t') + row.values.join(QLatin1Char('\t')) + QLatin1Char('\n');
        QApplication::clipboard()->setText(text);
    });
    menu.exec(event->globalPos());
}

} // namespace tilescope::ui
