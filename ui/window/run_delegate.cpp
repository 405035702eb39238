#include "ui/window/run_delegate.h"

#include "core/model/run_status.h"
#include "ui/kit/elided_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/window/run_tree_model.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace tilescope::ui {

namespace {

// Design pixels.
constexpr double kIndent = 8; // of a sweep in a study
constexpr double kArrow = 16; // width of the arrow; a click on it folds a branch

// Every status has an icon as well as a colour.
Icon iconOf(RunStatus status)
{
    switch (status) {
    case RunStatus::Ok:
        return Icon::Check;
    case RunStatus::Oom:
        return Icon::Up;
    case RunStatus::Error:
        return Icon::Error;
    case RunStatus::Running:
        return Icon::Running;
    case RunStatus::Skipped:
        return Icon::Skipped;
    case RunStatus::Cancelled:
    case RunStatus::Interrupted:
        return Icon::Cancelled;
    }
    return Icon::Check;
}

QColor colourOf(RunStatus status, const Palette& p)
{
    const StatusTone tone = traitsOf(status).tone;
    return tone == StatusTone::Failed    ? p.error
           : tone == StatusTone::Limited ? p.warning
           : tone == StatusTone::Running ? p.running
                                         : p.dimText;
}

} // namespace

QSize RunDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    return {QStyledItemDelegate::sizeHint(option, index).width(), sizes().row};
}

int RunDelegate::leastNameWidth()
{
    constexpr int kCharacters = 12;
    const QFontMetrics metrics(Theme::instance().body());
    const int sign = sizes().of(10) + sizes().of(12) + 2;
    const int number = metrics.horizontalAdvance(QStringLiteral("00")) + sizes().of(6);
    const int letter = sizes().of(6) + sizes().of(16) + sizes().of(2);
    return sign + number + metrics.horizontalAdvance(QString(kCharacters, QLatin1Char('n'))) + letter;
}

namespace {

int numberWidth(const QModelIndex& index)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QString number = QString::number(index.data(RunTreeModel::RunNumberRole).toLongLong());
    return std::max(metrics.horizontalAdvance(QStringLiteral("00")), metrics.horizontalAdvance(number));
}

// Between the number and the letter, if the run has one.
QRectF placeOfName(const QRect& cell, const QModelIndex& index)
{
    const int pad = sizes().of(6);
    const double left = cell.left() + sizes().of(10) + sizes().of(12) + 2 + numberWidth(index) + pad;
    const bool badge = !index.data(RunTreeModel::LetterRole).toString().isEmpty();
    return {left, double(cell.top()), cell.right() - left - (badge ? sizes().of(16) + pad : 0),
            double(cell.height())};
}

} // namespace

QString RunDelegate::nameIn(const QRect& cell, const QModelIndex& index)
{
    const QFontMetrics metrics(Theme::instance().body());
    const int room = int(placeOfName(cell, index).width());
    for (const int role : {int(Qt::DisplayRole), int(RunTreeModel::ShortTitleRole)})
        if (const QString title = index.data(role).toString(); metrics.horizontalAdvance(title) <= room)
            return title;
    const QString name = index.data(RunTreeModel::BriefTitleRole).toString();
    if (metrics.horizontalAdvance(name) <= room)
        return name;
    const QString backend = name.section(QLatin1Char(' '), 0, 0);
    const QString rest = name.mid(backend.size());
    const int left = room - metrics.horizontalAdvance(rest);
    const QStringList words = backend.split(QLatin1Char('-'));
    if (words.size() == 1 && left >= metrics.horizontalAdvance(QStringLiteral("n…n")))
        return elidedText(backend, metrics, Qt::ElideMiddle, left) + rest;
    // Shortens the backend's words to their first letters: fla-tor, fl-to, f-t.
    for (qsizetype letters = backend.size(); letters > 0; --letters) {
        QStringList cut;
        for (const QString& word : words)
            cut << word.left(letters);
        if (const QString shown = cut.join(QLatin1Char('-')); metrics.horizontalAdvance(shown) <= left)
            return shown + rest;
    }
    return elidedText(name, metrics, Qt::ElideMiddle, room);
}

namespace {

// Status, number, title and letter of a run.
void paintRun(QPainter* painter, const QRect& rect, const QModelIndex& index)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const int pad = sizes().of(6);
    const auto status = RunStatus(index.siblingAtColumn(0).data(RunTreeModel::StatusRole).toInt());
    const QFontMetrics metrics(theme.body());
    const int side = sizes().of(12);
    double x = rect.left() + sizes().of(10);
    paintIcon(*painter, iconOf(status), QRectF(x, rect.center().y() - side / 2.0 + 1, side, side),
              colourOf(status, p));
    x += side + 2;
    const QString number = QString::number(index.data(RunTreeModel::RunNumberRole).toLongLong());
    painter->setPen(p.dimText);
    painter->drawText(QRectF(x, rect.top(), numberWidth(index), rect.height()),
                      Qt::AlignVCenter | Qt::AlignRight, number);
    const QRectF place = placeOfName(rect, index);
    const QString name = RunDelegate::nameIn(rect, index);
    painter->setPen(p.text);
    painter->drawText(place, Qt::AlignVCenter | Qt::AlignLeft, name);
    const QString letter = index.data(RunTreeModel::LetterRole).toString();
    if (letter.isEmpty())
        return;
    const int badge = sizes().of(16);
    x = place.left() + metrics.horizontalAdvance(name) + pad;
    const QRectF box(x, rect.center().y() - badge / 2.0 + 1, badge, badge);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(p.text);
    painter->drawRoundedRect(box, 3, 3);
    painter->setPen(p.surface);
    QFont small = theme.small();
    small.setWeight(QFont::DemiBold);
    painter->setFont(small);
    painter->drawText(box, Qt::AlignCenter, letter);
    painter->restore();
}

} // namespace

void RunDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const bool selected = option.state & QStyle::State_Selected;
    if (selected)
        painter->fillRect(option.rect, p.selectedRow);
    else if (option.state & QStyle::State_MouseOver)
        painter->fillRect(option.rect, p.hover);
    painter->setFont(theme.body());
    const int pad = sizes().of(6);
    if (index.column() == RunTreeModel::Flags) {
        // An icon marks runs with flags; its tooltip lists them.
        const double side = sizes().of(12);
        if (!index.data().toString().isEmpty())
            paintIcon(*painter, Icon::Warning,
                      QRectF(option.rect.center().x() - side / 2, option.rect.center().y() - side / 2 + 1,
                             side, side),
                      p.warning);
        return;
    }
    if (index.column() != RunTreeModel::Run) {
        const QString text = elidedText(index.data().toString(), QFontMetrics(theme.body()), Qt::ElideRight,
                                        option.rect.width() - pad);
        painter->setPen(text == QLatin1String("OOM")          ? p.warning
                        : index.column() < RunTreeModel::Step ? p.dimText
                                                              : p.text);
        painter->drawText(option.rect.adjusted(0, 0, -pad, 0),
                          index.data(Qt::TextAlignmentRole).toInt() | int(Qt::TextSingleLine), text);
        return;
    }
    paintRun(painter, option.rect, index);
}

bool RunTreeView::isBranch(const QModelIndex& index)
{
    return index.isValid() && !index.siblingAtColumn(0).data(RunTreeModel::RunNumberRole).isValid();
}

double RunTreeView::arrowLeft(const QModelIndex& branch)
{
    const int depth = branch.siblingAtColumn(0).data(RunTreeModel::DepthRole).toInt();
    return sizes().of(10) + std::max(0, depth - 1) * sizes().of(kIndent);
}

// Moving over the row of a branch, by mouse or keyboard, leaves the selected runs.
QItemSelectionModel::SelectionFlags RunTreeView::selectionCommand(const QModelIndex& index,
                                                                  const QEvent* event) const
{
    return isBranch(index) ? QItemSelectionModel::NoUpdate : QTreeView::selectionCommand(index, event);
}

void RunTreeView::mousePressEvent(QMouseEvent* event)
{
    QTreeView::mousePressEvent(event);
    const QModelIndex row = indexAt(event->position().toPoint()).siblingAtColumn(0);
    if (!isBranch(row) || event->button() != Qt::LeftButton)
        return;
    const double right = arrowLeft(row) + sizes().of(kArrow);
    if (event->position().x() <= right)
        setExpanded(row, !isExpanded(row));
    else
        emit runsWanted(row, event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier));
}

void RunTreeView::keyPressEvent(QKeyEvent* event)
{
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if ((isEnter || event->key() == Qt::Key_Space) && isBranch(currentIndex()))
        emit runsWanted(currentIndex().siblingAtColumn(0), event->modifiers() & Qt::ControlModifier);
    else
        QTreeView::keyPressEvent(event);
}

void RunTreeView::drawRow(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const
{
    if (!isBranch(index)) {
        QTreeView::drawRow(painter, option, index);
        return;
    }
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const QModelIndex first = index.siblingAtColumn(0);
    const int depth = first.data(RunTreeModel::DepthRole).toInt();
    const QRect rect(0, option.rect.top(), viewport()->width(), option.rect.height());
    const int side = sizes().of(12);
    const int left = int(arrowLeft(first));
    painter->fillRect(rect, depth == 0 ? p.raised : p.surface);
    if (first == currentIndex() && hasFocus())
        painter->fillRect(QRect(rect.left(), rect.top(), sizes().of(3), rect.height()), p.accent);
    paintIcon(*painter, isExpanded(first) ? Icon::ChevronDown : Icon::ChevronRight,
              QRectF(left, rect.center().y() - side / 2.0 + 1, side, side), p.dimText);
    const QString right = index.siblingAtColumn(RunTreeModel::Flags).data().toString();
    painter->setFont(theme.small());
    int rightWidth = painter->fontMetrics().horizontalAdvance(right) + sizes().padding;
    painter->setPen(p.dimText);
    painter->drawText(rect.adjusted(0, 0, -sizes().padding, 0), Qt::AlignVCenter | Qt::AlignRight, right);
    // A folded group shows that some of its runs did not end well.
    if (const auto status = RunStatus(first.data(RunTreeModel::StatusRole).toInt());
        status != RunStatus::Ok) {
        rightWidth += side + sizes().of(4);
        paintIcon(*painter, iconOf(status),
                  QRectF(rect.right() - rightWidth, rect.center().y() - side / 2.0 + 1, side, side),
                  colourOf(status, p));
    }
    painter->setFont(depth == 0 ? theme.bold() : theme.body());
    painter->setPen(p.text);
    const QRect name = rect.adjusted(left + side + sizes().of(6), 0, -rightWidth - sizes().of(6), 0);
    painter->drawText(
        name, Qt::AlignVCenter | Qt::AlignLeft,
        elidedText(index.data().toString(), painter->fontMetrics(), Qt::ElideMiddle, name.width()));
}

void RunTreeView::paintEvent(QPaintEvent* event)
{
    QTreeView::paintEvent(event);
    const auto* runs = qobject_cast<const RunTreeModel*>(model());
    if (runs == nullptr || !runs->isFiltered() || runs->shownRuns() > 0)
        return;
    QPainter painter(viewport());
    painter.setFont(Theme::instance().body());
    painter.setPen(colours().dimText);
    painter.drawText(viewport()->rect().adjusted(sizes().padding, sizes().padding, -sizes().padding, 0),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, tr("No run matches the filter."));
}

} // namespace tilescope::ui
