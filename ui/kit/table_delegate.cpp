#include "ui/kit/table_delegate.h"

#include "core/model/memory_category.h"
#include "core/model/text.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_model.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

QColor categoryColour(const QString& category, const Palette& p)
{
    switch (fromWord<MemoryCategory>(category.toStdString()).value_or(MemoryCategory::Unattributed)) {
    case MemoryCategory::Parameters:
        return p.parameters;
    case MemoryCategory::Gradients:
        return p.gradients;
    case MemoryCategory::Optimizer:
        return p.optimizerState;
    case MemoryCategory::Activations:
        return p.activations;
    case MemoryCategory::Inputs:
        return p.inputs;
    case MemoryCategory::Temporaries:
        return p.temporaries;
    case MemoryCategory::Workspace:
        return p.workspace;
    case MemoryCategory::Unattributed:
        return p.unattributed;
    case MemoryCategory::Fragmentation:
        return p.fragmentation;
    case MemoryCategory::ReservedFree:
        return p.reservedFree;
    case MemoryCategory::Context:
        return p.context;
    }
    return p.unattributed;
}

QColor colourOf(const Swatch& swatch, const Palette& p)
{
    switch (swatch.kind) {
    case Swatch::Kind::Hue:
        return p.hue(swatch.hue);
    case Swatch::Kind::Category:
        return categoryColour(swatch.category, p);
    case Swatch::Kind::Own:
        return swatch.own;
    case Swatch::Kind::Neutral:
    case Swatch::Kind::None:
        return blend(p.dimText, p.surface, 0.55);
    }
    return p.dimText;
}

Toned tonedBy(Tone tone, const Palette& p)
{
    switch (tone) {
    case Tone::Plain:
        return {p.text, {}, false};
    case Tone::Dim:
        return {p.dimText, {}, false};
    case Tone::Strong:
        return {p.text, {}, true};
    case Tone::Better:
        return {p.faster, Icon::Down, false};
    case Tone::Worse:
        return {p.warning, Icon::Up, false};
    case Tone::Warning:
        return {p.warning, Icon::Warning, false};
    case Tone::Link:
        return {p.accent, {}, false};
    }
    return {p.text, {}, false};
}

namespace {

// Design pixels.
constexpr double kPad = 6;       // at both sides of a cell
constexpr double kFirstPad = 10; // at the left of a row
constexpr double kSign = 12;     // of a tone, before the text

// Of the text, broken into lines of the width.
QRect boundsOf(const QString& text, const QFontMetrics& metrics, int width)
{
    constexpr int kAnyHeight = 1 << 20;
    return metrics.boundingRect(QRect(0, 0, width, kAnyHeight), Qt::TextWordWrap, unbroken(text));
}

// As many of the first words as the height has lines for, at least one line of them.
QString beginningOf(const QString& text, const QFontMetrics& metrics, int width, int height)
{
    const int lines = std::max(1, height / std::max(1, metrics.lineSpacing()));
    if (lines == 1)
        return elidedText(text, metrics, Qt::ElideRight, width);
    const QStringList words = text.split(QLatin1Char(' '));
    qsizetype fits = 1;
    qsizetype most = words.size();
    while (fits < most) {
        const qsizetype count = (fits + most + 1) / 2;
        const QString beginning = words.first(count).join(QLatin1Char(' ')) + QStringLiteral(" …");
        if (TableDelegate::lineCount(beginning, metrics, width) <= lines)
            fits = count;
        else
            most = count - 1;
    }
    return words.first(fits).join(QLatin1Char(' ')) + QStringLiteral(" …");
}

void paintBars(QPainter& painter, const QRect& rect, const TableCell& cell, const QColor& colour,
               const Palette& p)
{
    const bool pair = cell.secondBar >= 0;
    const int height = sizes().of(pair ? 6 : 10);
    const int gap = pair ? 1 : 0;
    const int top = rect.center().y() - (pair ? height + gap / 2 : height / 2) + (pair ? 0 : 1);
    const auto width = [&rect](double share) {
        return share > 0 ? std::max(1.0, share * (rect.width() - sizes().of(10))) : 0.0;
    };
    if (cell.bar >= 0)
        painter.fillRect(QRectF(rect.left(), top, width(cell.bar), height), colour);
    if (pair)
        painter.fillRect(QRectF(rect.left(), top + height + gap, width(cell.secondBar), height),
                         blend(colour, p.surface, 0.6));
}

void paintStrip(QPainter& painter, const QRect& rect, const TableCell& cell, const QColor& colour,
                const Palette& p)
{
    if (cell.strip[1] < 0)
        return;
    const double left = rect.left() + sizes().of(6);
    const double width = rect.width() - sizes().of(16);
    const double middle = rect.center().y() + 1;
    const double from = left + cell.strip[0] * width;
    const double to = left + cell.strip[2] * width;
    const double thick = sizes().of(4);
    painter.fillRect(QRectF(from, middle - thick / 2, std::max(1.0, to - from), thick), p.strongLine);
    const double mark = sizes().of(10);
    painter.fillRect(QRectF(left + cell.strip[1] * width - 1.5, middle - mark / 2, 3, mark), colour);
}

void paintSignedBar(QPainter& painter, const QRect& rect, double value, const Palette& p)
{
    const double centre = rect.center().x();
    const double height = sizes().of(10);
    const double middle = rect.center().y() + 1;
    painter.fillRect(QRectF(centre, rect.top() + 4, 1, rect.height() - 8), p.strongLine);
    if (std::isnan(value) || value == 0)
        return;
    const double length = std::max(1.0, std::abs(value) * (rect.width() / 2.0 - sizes().of(6)));
    const QColor colour = value < 0 ? p.faster : p.warning;
    painter.fillRect(QRectF(value < 0 ? centre - length : centre + 1, middle - height / 2, length, height),
                     blend(colour, p.surface, 0.82));
}

/// The parts one after the other; the second bar is thin and beneath them.
void paintStack(QPainter& painter, const QRect& rect, const TableCell& cell, const Palette& p)
{
    const double whole = rect.width() - sizes().of(10);
    const double height = sizes().of(10);
    const double thin = sizes().of(2);
    const bool isPair = cell.secondBar >= 0;
    const double top = rect.center().y() + 1 - (height + (isPair ? thin + 2 : 0)) / 2;
    double at = rect.left();
    for (const auto& [hue, share] : cell.stack) {
        const double width = share * whole;
        painter.fillRect(QRectF(at, top, width, height), p.hue(hue));
        at += width;
    }
    if (isPair)
        painter.fillRect(QRectF(rect.left(), top + height + 2, cell.secondBar * whole, thin), p.strongLine);
}

} // namespace

void TableDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const
{
    const Palette& p = colours();
    const auto* filter = static_cast<const TableFilter*>(index.model());
    const QModelIndex source = filter->mapToSource(index);
    const TableModel& model = *filter->table();
    const TableRow& row = model.row(source.row());
    const TableCell& cell = model.cell(source);
    const TableColumn& column = model.table().columns[std::size_t(source.column())];
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect, p.selectedRow);
    else if (option.state & QStyle::State_MouseOver)
        painter->fillRect(option.rect, p.hover);
    if (row.section)
        painter->fillRect(QRect(option.rect.left(), option.rect.top(), option.rect.width(), 1), p.line);
    const int right = sizes().of(kPad);
    QRect rect = option.rect.adjusted(padding(index.column()) - right, 0, -right, 0);
    const QColor colour = colourOf(row.swatch, p);
    switch (column.kind) {
    case TableColumn::Kind::Bar:
        paintBars(*painter, option.rect, cell, colour, p);
        return;
    case TableColumn::Kind::Strip:
        paintStrip(*painter, option.rect, cell, colour, p);
        return;
    case TableColumn::Kind::SignedBar:
        paintSignedBar(*painter, option.rect, cell.signedBar, p);
        return;
    case TableColumn::Kind::Stack:
        paintStack(*painter, option.rect, cell, p);
        return;
    case TableColumn::Kind::Text:
    case TableColumn::Kind::Number:
        break;
    }
    if (column.swatch && row.swatch.kind != Swatch::Kind::None) {
        const int side = sizes().of(10);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        // A colour chosen for white paper may equal this background: it gets an outline.
        painter->setPen(row.swatch.kind == Swatch::Kind::Own ? QPen(p.strongLine, 1) : QPen(Qt::NoPen));
        painter->setBrush(colour);
        painter->drawRoundedRect(QRectF(rect.left(), rect.center().y() - side / 2.0 + 1, side, side), 2, 2);
        painter->restore();
        rect.adjust(side + sizes().of(8), 0, 0, 0);
    }
    const Toned toned = tonedBy(cell.tone, p);
    painter->setFont(fontOf(row, cell));
    painter->setPen(column.dim && cell.tone == Tone::Plain && !row.strong ? p.dimText : toned.colour);
    if (column.code) {
        QFont mono = Theme::instance().mono();
        mono.setBold(painter->font().bold());
        painter->setFont(mono);
        painter->drawText(rect, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                          elidedText(cell.text, QFontMetrics(mono), Qt::ElideRight, rect.width()));
        return;
    }
    const QFontMetrics metrics(painter->font());
    const bool number = column.kind == TableColumn::Kind::Number;
    // A number is never truncated.
    const bool fits = metrics.horizontalAdvance(cell.text) <= rect.width();
    // A word without a place to break at, as a kernel's name, is wider than its lines.
    const bool wraps =
        !fits && !number && boundsOf(cell.text, metrics, rect.width()).width() <= rect.width() &&
        lineCount(cell.text, metrics, rect.width()) * metrics.lineSpacing() <= option.rect.height();
    const auto* view = qobject_cast<const TableView*>(option.widget);
    const QString text = fits     ? cell.text
                         : wraps  ? unbroken(cell.text)
                         : number ? QStringLiteral("…")
                         : column.sentence
                             ? beginningOf(cell.text, metrics, rect.width(), option.rect.height())
                         : view != nullptr && painter->font() == Theme::instance().body()
                             ? view->elided(source.column(), cell.text, rect.width())
                             : elidedText(cell.text, metrics, Qt::ElideMiddle, rect.width());
    painter->drawText(rect,
                      (number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter |
                          (wraps || column.sentence ? Qt::TextWordWrap : Qt::TextSingleLine),
                      text);
    if (toned.sign && !cell.text.isEmpty()) {
        const double side = sizes().of(kSign);
        const double width = metrics.horizontalAdvance(text) + signWidth(cell.tone);
        const double x = number ? rect.right() - width : rect.left() - side - 3;
        paintIcon(*painter, *toned.sign, QRectF(x, rect.center().y() - side / 2 + 1, side, side),
                  toned.colour);
    }
}

int TableDelegate::padding(int column)
{
    return sizes().of(kPad) + sizes().of(column == 0 ? kFirstPad : kPad);
}

int TableDelegate::signWidth(Tone tone)
{
    return tonedBy(tone, colours()).sign ? sizes().of(kSign) + sizes().of(4) : 0;
}

int TableDelegate::lineCount(const QString& text, const QFontMetrics& metrics, int width)
{
    const QRect bounds = boundsOf(text, metrics, width);
    return bounds.height() / std::max(1, metrics.lineSpacing());
}

QFont TableDelegate::fontOf(const TableRow& row, const TableCell& cell)
{
    const Theme& theme = Theme::instance();
    return row.strong || cell.tone == Tone::Strong ? theme.bold() : theme.body();
}

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent)
{
    setSectionsClickable(true);
    setHighlightSections(false);
    setFixedHeight(sizes().header);
    setSectionResizeMode(QHeaderView::Interactive);
    setMinimumSectionSize(sizes().of(24));
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const
{
    const Palette& p = colours();
    painter->save();
    painter->fillRect(rect, p.raised);
    painter->fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), p.line);
    const bool sorted = isSortIndicatorShown() && sortIndicatorSection() == section;
    const QString title = model()->headerData(section, Qt::Horizontal).toString();
    const int alignment = model()->headerData(section, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
    const int pad = sizes().of(6);
    const QRect inner = rect.adjusted(
        logicalIndexAt(0) == section && visualIndex(section) == 0 ? sizes().of(10) : pad, 0, -pad, 0);
    QString text = title;
    if (sorted && !title.isEmpty())
        text += sortIndicatorOrder() == Qt::AscendingOrder ? QStringLiteral(" ▴") : QStringLiteral(" ▾");
    QFont font = Theme::instance().small();
    font.setWeight(sorted ? QFont::DemiBold : QFont::Normal);
    // If the triangle does not fit, only the dark colour marks the sorted column.
    if (sorted && QFontMetrics(font).horizontalAdvance(text) > inner.width()) {
        text = title;
        font.setWeight(QFont::Normal);
    }
    painter->setFont(font);
    painter->setPen(sorted ? p.text : p.dimText);
    const bool fits = painter->fontMetrics().horizontalAdvance(text) <= inner.width();
    const auto* table = static_cast<const TableFilter*>(model())->table();
    const bool isText = table->table().columns[std::size_t(section)].kind == TableColumn::Kind::Text;
    // Bars may be narrower than their title, so the title is drawn only if it fits completely.
    if (fits || isText)
        painter->drawText(inner, alignment | Qt::TextSingleLine,
                          fits ? text
                               : elidedText(text, painter->fontMetrics(), Qt::ElideRight, inner.width()));
    painter->restore();
}

} // namespace tilescope::ui
