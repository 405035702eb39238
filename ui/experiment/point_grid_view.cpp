#include "ui/experiment/point_grid_view.h"

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr double kLeastCell = 64; // a time with its unit
constexpr double kMostCell = 110;

// Whether the value of this key of the columns, or of a key outside it, changes.
bool beginsGroup(const PointGrid& grid, std::size_t column, qsizetype level)
{
    if (column == 0)
        return true;
    for (qsizetype i = 0; i <= level; ++i)
        if (grid.columns[column][i] != grid.columns[column - 1][i])
            return true;
    return false;
}

} // namespace

PointGridView::PointGridView(QWidget* parent) : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Points as a grid"));
    viewport()->setMouseTracking(true);
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void PointGridView::setGrid(PointGrid grid)
{
    grid_ = std::move(grid);
    cells_ = {};
    tips_.clear();
    marked_ = -1;
    setScrollRanges();
    describe();
    viewport()->update();
}

void PointGridView::show(const SweepProgress& progress)
{
    cells_ = cellsOf(grid_, progress);
    tips_.clear();
    for (const std::ptrdiff_t position : grid_.cells) {
        QString tip;
        if (position >= 0 && std::size_t(position) < progress.points().size()) {
            const SweepProgress::PointState& point = progress.points()[std::size_t(position)];
            tip = tr("point %1, %2").arg(position + 1).arg(point.label);
            if (point.standing == SweepProgress::Standing::Done) {
                tip += QStringLiteral(": ") + QString::fromStdString(point.result.status);
                if (point.result.stepMs)
                    tip += tr(", %1 a step").arg(timeText(*point.result.stepMs * 1e6));
                if (point.result.peak)
                    tip += tr(", peak allocated %1").arg(byteText(double(*point.result.peak)));
                if (!point.result.reason.empty())
                    tip += QStringLiteral(", ") + QString::fromStdString(point.result.reason);
            }
        }
        tips_.push_back(tip);
    }
    describe();
    viewport()->update();
}

PointGridView::Layout PointGridView::measure() const
{
    Layout layout{};
    const QFontMetrics metrics(font());
    int label = metrics.horizontalAdvance(grid_.rowKey);
    for (const QString& row : grid_.rows)
        label = std::max(label, metrics.horizontalAdvance(row));
    layout.label = label + sizes().of(20);
    layout.row = sizes().of(22);
    layout.header = int(std::max<qsizetype>(grid_.columnKeys.size(), 1)) * sizes().of(18) + sizes().of(4);
    const auto columns = int(grid_.columns.size());
    const int room = columns > 0 ? (viewport()->width() - layout.label - sizes().padding) / columns : 0;
    layout.cell = std::clamp(room, sizes().of(kLeastCell), sizes().of(kMostCell));
    return layout;
}

QRect PointGridView::cellRect(const Layout& layout, std::size_t row, std::size_t column) const
{
    return {layout.label + int(column) * layout.cell - horizontalScrollBar()->value(),
            layout.header + int(row) * layout.row - verticalScrollBar()->value(), layout.cell - 2,
            layout.row - 2};
}

int PointGridView::wantedHeight() const
{
    const Layout layout = measure();
    return layout.header + int(grid_.rows.size()) * layout.row + sizes().of(8);
}

void PointGridView::setScrollRanges()
{
    const Layout layout = measure();
    const int width = layout.label + int(grid_.columns.size()) * layout.cell + sizes().of(8);
    const int height = wantedHeight();
    horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
    horizontalScrollBar()->setPageStep(viewport()->width());
    horizontalScrollBar()->setSingleStep(layout.cell);
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(layout.row);
}

void PointGridView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    setScrollRanges();
}

void PointGridView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const Palette& p = colours();
    painter.fillRect(viewport()->rect(), p.surface);
    const Layout layout = measure();
    painter.setFont(font());
    for (std::size_t row = 0; row < std::size_t(grid_.rows.size()); ++row)
        for (std::size_t column = 0; column < grid_.columns.size(); ++column) {
            const std::size_t at = row * grid_.columns.size() + column;
            if (at < cells_.size())
                paintCell(painter, cellRect(layout, row, column), cells_[at], std::ptrdiff_t(at) == marked_);
        }
    // Labels stay in place over what is scrolled below them.
    painter.fillRect(0, 0, layout.label - 2, viewport()->height(), p.surface);
    painter.setPen(p.dimText);
    for (std::size_t row = 0; row < std::size_t(grid_.rows.size()); ++row) {
        const QRect cell = cellRect(layout, row, 0);
        painter.drawText(QRect(0, cell.y(), layout.label - sizes().of(10), cell.height()),
                         Qt::AlignRight | Qt::AlignVCenter, grid_.rows[qsizetype(row)]);
    }
    painter.fillRect(0, 0, viewport()->width(), layout.header, p.surface);
    paintHeader(painter, layout);
}

void PointGridView::paintHeader(QPainter& painter, const Layout& layout) const
{
    const Palette& p = colours();
    const int line = sizes().of(18);
    const qsizetype levels = grid_.columnKeys.size();
    painter.save();
    painter.setClipRect(layout.label - 2, 0, viewport()->width(), viewport()->height());
    for (qsizetype level = 0; level < levels; ++level) {
        const bool innermost = level + 1 == levels;
        for (std::size_t column = 0; column < grid_.columns.size(); ++column) {
            if (!beginsGroup(grid_, column, level))
                continue;
            std::size_t end = column + 1;
            while (end < grid_.columns.size() && !beginsGroup(grid_, end, level))
                ++end;
            const QRect cell = cellRect(layout, 0, column);
            const QRect place(cell.x(), int(level) * line, int(end - column) * layout.cell - 6, line);
            const bool first = level == 0 && levels > 1;
            painter.setFont(first ? Theme::instance().bold() : Theme::instance().small());
            painter.setPen(first ? p.text : p.dimText);
            // The first number of a row has the unit.
            const QString value = grid_.columns[column][level];
            const bool named =
                innermost && (level == 0 ? column == 0 : beginsGroup(grid_, column, level - 1));
            bool isNumber = false;
            value.toDouble(&isNumber);
            const QString words =
                named && isNumber ? grid_.columnKeys[level] + QLatin1Char(' ') + value : value;
            const QString shown =
                painter.fontMetrics().horizontalAdvance(words) <= place.width() ? words : value;
            painter.drawText(place, Qt::AlignVCenter | (innermost ? Qt::AlignRight : Qt::AlignLeft), shown);
            if (column > 0 && !innermost) {
                painter.setPen(p.strongLine);
                painter.drawLine(cell.x() - 2, int(level) * line + 3, cell.x() - 2, viewport()->height());
            }
        }
    }
    painter.restore();
    painter.setFont(Theme::instance().small());
    painter.setPen(p.dimText);
    painter.fillRect(0, 0, layout.label - 2, layout.header, p.surface);
    painter.drawText(QRect(0, layout.header - line - 2, layout.label - sizes().of(10), line),
                     Qt::AlignRight | Qt::AlignVCenter, grid_.rowKey);
}

void PointGridView::paintCell(QPainter& painter, const QRect& rect, const GridCell& cell, bool marked) const
{
    using Kind = GridCell::Kind;
    const Palette& p = colours();
    if (cell.kind == Kind::Hole || !rect.intersects(viewport()->rect()))
        return;
    QColor ground = p.surface;
    QColor ink = p.text;
    std::optional<Icon> sign;
    bool framed = false;
    switch (cell.kind) {
    case Kind::Time:
        ground = blend(p.text, p.surface, 0.05 + 0.25 * cell.shade);
        break;
    case Kind::Oom:
        ground = blend(p.warning, p.surface, 0.13);
        ink = p.warning;
        sign = Icon::Warning;
        break;
    case Kind::Error:
        ground = blend(p.error, p.surface, 0.13);
        ink = p.error;
        sign = Icon::Error;
        break;
    case Kind::Running:
        ground = blend(p.running, p.surface, 0.10);
        ink = p.running;
        sign = Icon::Running;
        break;
    case Kind::ExpectedOom:
        ink = p.warning;
        framed = true;
        break;
    default:
        ink = p.dimText;
        framed = cell.kind == Kind::Waiting;
    }
    painter.fillRect(rect, ground);
    if (framed || cell.kind == Kind::Running || marked) {
        painter.setPen(QPen(marked                       ? p.accent
                            : cell.kind == Kind::Running ? p.running
                                                         : p.line,
                            marked ? 2 : 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect.adjusted(0, 0, -1, -1));
    }
    QRect text = rect.adjusted(2, 0, -sizes().of(6), 0);
    const int side = sizes().of(10);
    const int width = painter.fontMetrics().horizontalAdvance(cell.text);
    if (sign && text.width() > width + side + 4)
        paintIcon(painter, *sign,
                  QRectF(text.right() - width - side - 3, rect.center().y() - side / 2.0 + 0.5, side, side),
                  ink);
    painter.setPen(ink);
    painter.drawText(text, Qt::AlignRight | Qt::AlignVCenter, cell.text);
}

std::ptrdiff_t PointGridView::cellAt(const QPoint& at) const
{
    const Layout layout = measure();
    if (at.x() < layout.label || at.y() < layout.header || grid_.columns.empty())
        return -1;
    const int column = (at.x() - layout.label + horizontalScrollBar()->value()) / layout.cell;
    const int row = (at.y() - layout.header + verticalScrollBar()->value()) / layout.row;
    if (std::size_t(column) >= grid_.columns.size() || row >= grid_.rows.size())
        return -1;
    return std::ptrdiff_t(row) * std::ptrdiff_t(grid_.columns.size()) + column;
}

QString PointGridView::words(std::ptrdiff_t cell) const
{
    return cell >= 0 && std::size_t(cell) < tips_.size() ? tips_[std::size_t(cell)] : QString();
}

void PointGridView::mouseMoveEvent(QMouseEvent* event)
{
    emit cellText(words(cellAt(event->position().toPoint())));
}

void PointGridView::mousePressEvent(QMouseEvent* event)
{
    marked_ = cellAt(event->position().toPoint());
    viewport()->update();
    describe();
    emit cellText(words(marked_));
    if (const auto point = markedPoint())
        emit chosen(*point);
}

void PointGridView::mouseDoubleClickEvent(QMouseEvent* event)
{
    marked_ = cellAt(event->position().toPoint());
    viewport()->update();
    if (const auto point = markedPoint())
        emit activated(*point);
}

std::optional<std::size_t> PointGridView::markedPoint() const
{
    if (marked_ < 0 || std::size_t(marked_) >= grid_.cells.size() || grid_.cells[std::size_t(marked_)] < 0)
        return {};
    return std::size_t(grid_.cells[std::size_t(marked_)]);
}

// For screen readers: the marked cell, otherwise how many there are.
void PointGridView::describe()
{
    const QString cell = words(marked_);
    setAccessibleDescription(cell.isEmpty() ? counted(std::ssize(grid_.cells), "cell") : cell);
}

void PointGridView::leaveEvent(QEvent*)
{
    emit cellText({});
}

void PointGridView::keyPressEvent(QKeyEvent* event)
{
    const auto columns = std::ptrdiff_t(grid_.columns.size());
    std::ptrdiff_t step = 0;
    switch (event->key()) {
    case Qt::Key_Left:
        step = -1;
        break;
    case Qt::Key_Right:
        step = 1;
        break;
    case Qt::Key_Up:
        step = -columns;
        break;
    case Qt::Key_Down:
        step = columns;
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (const auto point = markedPoint())
            emit activated(*point);
        return;
    default:
        return QAbstractScrollArea::keyPressEvent(event);
    }
    const std::ptrdiff_t to = marked_ < 0 ? 0 : marked_ + step;
    if (to < 0 || std::size_t(to) >= grid_.cells.size())
        return;
    marked_ = to;
    const QRect rect = cellRect(measure(), std::size_t(to / columns), std::size_t(to % columns));
    if (rect.bottom() > viewport()->height() || rect.top() < measure().header)
        verticalScrollBar()->setValue(verticalScrollBar()->value() + rect.center().y() -
                                      viewport()->height() / 2);
    if (rect.right() > viewport()->width() || rect.left() < measure().label)
        horizontalScrollBar()->setValue(horizontalScrollBar()->value() + rect.center().x() -
                                        viewport()->width() / 2);
    viewport()->update();
    describe();
    emit cellText(words(marked_));
    if (const auto point = markedPoint())
        emit chosen(*point);
}

bool PointGridView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString tip = words(cellAt(help->pos()));
        QToolTip::showText(help->globalPos(),
                           tip.isEmpty() ? tip : tipOfLines({tip, tr("A double click shows its run.")}),
                           viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace tilescope::ui
