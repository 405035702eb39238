#include "ui/ranks/lateness_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QLinearGradient>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kLeastCell = 3; // pixels of a column
constexpr int kRow = 24;      // logical pixels, likewise below
constexpr int kLeastRow = 14; // of more than kTallRows ranks
constexpr int kTallRows = 8;
constexpr int kNamedRows = 48; // more ranks are lower than their titles, apart from the latest
constexpr int kLatestRows = 8;
constexpr int kHeader = 20;    // numbers of the collectives
constexpr int kLegend = 46;    // scale and who was last
constexpr double kLeast = 1e3; // ns; the scale is linear below

int rowHeight(std::size_t ranks)
{
    const int count = int(ranks);
    return count > kNamedRows
               ? std::max(1, sizes().of(kLeastRow) * kNamedRows / count)
               : std::max(sizes().of(kLeastRow), sizes().of(kRow) * kTallRows / std::max(kTallRows, count));
}

/// How much higher the rows of the latest of many ranks are together.
int latestHeight(std::size_t ranks)
{
    return int(ranks) > kNamedRows ? kLatestRows * (sizes().of(kLeastRow) - rowHeight(ranks)) : 0;
}

/// The least height of a row with numbers.
int lineHeight()
{
    return QFontMetrics(Theme::instance().small()).height() - 2;
}

/// The place of a value on the scale, from 0 to 1.
double shareOf(double late, double most)
{
    return most <= 0 ? 0 : std::log1p(late / kLeast) / std::log1p(most / kLeast);
}

} // namespace

/// The layout: columns share the width in bins.
struct LatenessPlot::Frame {
    int left = 0, right = 0, top = 0, row = 0;
    int medians = 0;        ///< width of the column of medians, right of the cells; 0: there is none
    bool hasNumbers = true; ///< in the cells of rows with room for a line
    std::size_t tall = 0;   ///< the first rows that are higher
    int tallRow = 0;
    std::size_t columns = 0, bins = 0;
    std::size_t ranks = 0;

    std::size_t firstOf(std::size_t bin) const { return bin * columns / bins; }
    std::size_t binOf(std::size_t column) const { return ((column + 1) * bins - 1) / columns; }
    int x(std::size_t bin) const
    {
        return left + int(std::int64_t(right - left) * std::int64_t(bin) / std::int64_t(bins));
    }
    QRect cell(std::size_t rank, std::size_t bin) const
    {
        return {x(bin), y(rank), x(bin + 1) - x(bin), y(rank + 1) - y(rank)};
    }
    int y(std::size_t rank) const
    {
        const std::size_t high = std::min(rank, tall);
        return top + int(high) * tallRow + int(rank - high) * row;
    }
    int bottom() const { return y(ranks); }
    /// The rank at a height between the first and the last.
    std::size_t rankAt(int at) const
    {
        const int highest = top + int(tall) * tallRow;
        return at < highest ? std::size_t((at - top) / tallRow) : tall + std::size_t((at - highest) / row);
    }
    /// The ranks, from the first to the one after the last, whose rows are within what is painted.
    std::pair<std::size_t, std::size_t> shown(const QPainter& painter) const
    {
        if (!painter.hasClipping())
            return {0, ranks};
        const QRect clip = painter.clipBoundingRect().toAlignedRect();
        const auto at = [this](int y) {
            return y < top ? 0 : y >= bottom() ? ranks : std::min(ranks, rankAt(y));
        };
        return {at(clip.top()), std::min(ranks, at(clip.bottom()) + 1)};
    }
};

LatenessPlot::LatenessPlot(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setCursor(Qt::PointingHandCursor);
    setAccessibleName(tr("Lateness by rank and collective"));
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        widest_ = widestNumber();
        update();
    });
}

void LatenessPlot::show(LatenessGrid grid)
{
    grid_ = std::move(grid);
    widest_ = widestNumber();
    current_.reset();
    describe();
    updateGeometry();
    update();
}

void LatenessPlot::mark(std::optional<std::size_t> collective)
{
    if (!collective) {
        current_.reset();
    } else if (const auto column = std::ranges::find(grid_.collectives, *collective);
               column != grid_.collectives.end()) {
        current_ = Cell{current_ ? current_->rank : 0, std::size_t(column - grid_.collectives.begin())};
    }
    describe();
    update();
}

QSize LatenessPlot::sizeHint() const
{
    return {sizes().of(320), sizes().of(kHeader + kLegend + 8) +
                                 int(grid_.ranks.size()) * rowHeight(grid_.ranks.size()) +
                                 latestHeight(grid_.ranks.size())};
}

QSize LatenessPlot::minimumSizeHint() const
{
    return {sizes().of(160), sizeHint().height()};
}

LatenessPlot::Frame LatenessPlot::frameOf(const QSize& size) const
{
    Frame frame;
    const QFontMetrics metrics(Theme::instance().body());
    int label = sizes().of(36);
    for (const LatenessGrid::Rank& rank : grid_.ranks)
        label = std::max(label, metrics.horizontalAdvance(rank.title));
    frame.left = sizes().padding + std::min(label, size.width() / 3) + sizes().of(8);
    frame.right = std::max(frame.left + 1, size.width() - sizes().padding);
    frame.top = sizes().of(kHeader);
    frame.row = rowHeight(grid_.ranks.size());
    frame.ranks = grid_.ranks.size();
    frame.tall = latestHeight(frame.ranks) > 0 ? kLatestRows : 0;
    frame.tallRow = sizes().of(kLeastRow);
    frame.columns = grid_.collectives.size();
    const QFontMetrics small(Theme::instance().small());
    const bool isHigh = std::max(frame.row, frame.tall > 0 ? frame.tallRow : 0) >= lineHeight();
    frame.hasNumbers =
        isHigh && (frame.right - frame.left) / int(std::max<std::size_t>(1, frame.columns)) >= widest_;
    if (isHigh && !frame.hasNumbers && grid_.most > 0) {
        frame.medians = small.horizontalAdvance(tr("median"));
        const Unit unit = timeUnit(grid_.most);
        for (const LatenessGrid::Rank& rank : grid_.ranks)
            if (rank.median)
                frame.medians =
                    std::max(frame.medians, small.horizontalAdvance(columnDigits(*rank.median, unit)));
        frame.medians += sizes().of(8);
        frame.right = std::max(frame.left + 1, frame.right - frame.medians);
    }
    frame.bins = std::clamp<std::size_t>(std::size_t((frame.right - frame.left) / kLeastCell), 1,
                                         std::max<std::size_t>(1, frame.columns));
    return frame;
}

QRect LatenessPlot::cellRect(std::size_t rank, std::size_t column) const
{
    const Frame frame = frameOf(size());
    return frame.cell(rank, frame.binOf(column));
}

QColor LatenessPlot::colourOf(double late) const
{
    const Palette& p = colours();
    return blend(p.warning, p.surface, 0.05 + 0.95 * shareOf(late, grid_.most));
}

void LatenessPlot::drawCells(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    const Unit unit = timeUnit(grid_.most);
    painter.setFont(Theme::instance().small());
    const auto [begin, end] = frame.shown(painter);
    for (std::size_t rank = begin; rank < end; ++rank) {
        for (std::size_t bin = 0; bin < frame.bins; ++bin) {
            std::optional<double> late;
            for (std::size_t column = frame.firstOf(bin); column < frame.firstOf(bin + 1); ++column)
                if (const std::optional<double>& value = grid_.at(rank, column); value)
                    late = std::max(late.value_or(0), *value);
            QRect cell = frame.cell(rank, bin);
            if (cell.width() > 6)
                cell.adjust(0, 0, -1, cell.height() > 3 ? -1 : 0);
            if (late)
                painter.fillRect(cell, colourOf(*late));
            if (!frame.hasNumbers || cell.height() < lineHeight())
                continue;
            const QString text = late ? columnDigits(*late, unit) : notMeasured();
            painter.setPen(late ? textOn(colourOf(*late)) : p.dimText);
            painter.drawText(cell, Qt::AlignCenter, text);
        }
    }
}

/// Pixels that the widest number needs in a cell.
int LatenessPlot::widestNumber() const
{
    constexpr std::size_t kMostNumbered = 200; // more collectives never have room for numbers
    const QFontMetrics metrics(Theme::instance().small());
    if (grid_.collectives.size() > kMostNumbered)
        return QWIDGETSIZE_MAX;
    const Unit unit = timeUnit(grid_.most);
    int widest = 0;
    for (const std::optional<double>& late : grid_.late)
        if (late)
            widest = std::max(widest, metrics.horizontalAdvance(columnDigits(*late, unit)) + 4);
    return widest;
}

/// What the colours of a row amount to, where its cells have no room for numbers.
void LatenessPlot::drawMedians(QPainter& painter, const Frame& frame) const
{
    if (frame.medians == 0)
        return;
    const Unit unit = timeUnit(grid_.most);
    painter.setFont(Theme::instance().small());
    painter.setPen(colours().dimText);
    const int line = painter.fontMetrics().height();
    const auto draw = [&](int top, int height, const QString& text) {
        painter.drawText(QRect(frame.right, top, frame.medians, height), Qt::AlignRight | Qt::AlignVCenter,
                         text);
    };
    draw(frame.top - sizes().of(4) - line, line, tr("median"));
    painter.setPen(colours().text);
    const auto [begin, end] = frame.shown(painter);
    for (std::size_t rank = begin; rank < end; ++rank) {
        const QRect row = frame.cell(rank, 0);
        if (row.height() < lineHeight())
            continue;
        const std::optional<double>& median = grid_.ranks[rank].median;
        draw(row.top(), row.height(), median ? columnDigits(*median, unit) : notMeasured());
    }
}

/// The titles of the ranks: of all, or of as many as fit.
void LatenessPlot::drawTitles(QPainter& painter, const Frame& frame) const
{
    painter.setPen(colours().text);
    painter.setFont(frame.row < sizes().of(kRow) ? Theme::instance().small() : Theme::instance().body());
    const QFontMetrics metrics(painter.font());
    const int label = frame.left - sizes().of(8) - sizes().padding;
    const auto draw = [&](std::size_t rank) {
        const QRect row = frame.cell(rank, 0);
        const int height = std::max(row.height(), metrics.height());
        painter.drawText(QRect(sizes().padding, row.top() + (row.height() - height) / 2, label, height),
                         Qt::AlignVCenter | Qt::AlignLeft,
                         elidedText(grid_.ranks[rank].title, metrics, Qt::ElideMiddle, label));
    };
    const auto every = std::size_t(frame.row >= metrics.height() - 2 ? 1 : metrics.height() / frame.row + 1);
    const auto [begin, end] = frame.shown(painter);
    for (std::size_t rank = begin; rank < end; ++rank)
        if (rank < frame.tall || (rank > frame.tall && (rank - frame.tall) % every == 0) || every == 1)
            draw(rank);
}

/// The numbers of the collectives within their groups, as many as fit.
void LatenessPlot::drawNumbers(QPainter& painter, const Frame& frame) const
{
    painter.setFont(Theme::instance().small());
    painter.setPen(colours().dimText);
    const QFontMetrics metrics(painter.font());
    int free = frame.left;
    for (std::size_t bin = 0; bin < frame.bins; ++bin) {
        const std::size_t column = frame.firstOf(bin);
        const QString& text = grid_.numbers[column];
        const int width = metrics.horizontalAdvance(text);
        const int x = (frame.x(bin) + frame.x(bin + 1) - width) / 2;
        if (text.isEmpty() || x < free || x + width > frame.right + sizes().padding / 2)
            continue;
        painter.drawText(x, frame.top - sizes().of(6), text);
        free = x + width + sizes().of(8);
    }
}

void LatenessPlot::drawMark(QPainter& painter, const Frame& frame) const
{
    if (!current_)
        return;
    const Palette& p = colours();
    const QRect first = frame.cell(0, frame.binOf(current_->column));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(p.accent, 1));
    painter.drawRect(
        QRect(first.left(), frame.top, std::max(2, first.width() - 1), frame.bottom() - frame.top - 1));
    if (!hasFocus())
        return;
    const QRect cell = frame.cell(current_->rank, frame.binOf(current_->column));
    painter.setPen(QPen(p.accent, 2));
    painter.drawRect(cell.adjusted(1, 1, -1, -1));
}

void LatenessPlot::drawLegend(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    painter.setPen(p.dimText);
    const QFontMetrics metrics(painter.font());
    const int top = frame.bottom() + sizes().of(6);
    const int line = metrics.height();
    const int width = frame.right - sizes().padding;
    const int below = top + line + sizes().of(2);
    const QString last =
        grid_.most > 0 ? grid_.lastWords() : tr("All ranks started each collective at once.");
    painter.drawText(QRect(sizes().padding, below, width, line), Qt::AlignLeft | Qt::AlignVCenter,
                     elidedText(last, metrics, Qt::ElideRight, width));
    if (grid_.most <= 0)
        return;
    const QString zero = QStringLiteral("0");
    int x = sizes().padding;
    painter.drawText(QRect(x, top, width, line), Qt::AlignLeft | Qt::AlignVCenter, zero);
    x += metrics.horizontalAdvance(zero) + sizes().of(5);
    const QRect bar(x, top + line / 2 - sizes().of(4), sizes().of(90), sizes().of(8));
    QLinearGradient scale(bar.topLeft(), bar.topRight());
    constexpr int kStops = 8;
    for (int i = 0; i <= kStops; ++i) // equal steps of the scale
        scale.setColorAt(double(i) / kStops,
                         colourOf(std::expm1(double(i) / kStops * std::log1p(grid_.most / kLeast)) * kLeast));
    painter.fillRect(bar, scale);
    x = bar.right() + sizes().of(6);
    painter.drawText(QRect(x, top, frame.right - x, line), Qt::AlignLeft | Qt::AlignVCenter,
                     elidedText(tr("%1, logarithmic").arg(timeText(grid_.most)), metrics, Qt::ElideRight,
                                frame.right - x));
}

void LatenessPlot::draw(QPainter& painter, const QSize& size) const
{
    if (grid_.isEmpty())
        return;
    const Frame frame = frameOf(size);
    drawNumbers(painter, frame);
    drawTitles(painter, frame);
    drawCells(painter, frame);
    drawMedians(painter, frame);
    drawMark(painter, frame);
    drawLegend(painter, frame);
}

void LatenessPlot::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    painter.setClipRect(event->rect()); // of a thousand ranks only those in sight
    draw(painter, size());
}

/// The column in a bin at which the rank was latest.
std::optional<LatenessPlot::Cell> LatenessPlot::cellAt(const QPoint& at) const
{
    if (grid_.isEmpty())
        return {};
    const Frame frame = frameOf(size());
    if (at.x() < frame.left || at.x() >= frame.right || at.y() < frame.top || at.y() >= frame.bottom())
        return {};
    const std::size_t rank = frame.rankAt(at.y());
    std::size_t bin = std::min(frame.bins - 1, std::size_t(at.x() - frame.left) * frame.bins /
                                                   std::size_t(frame.right - frame.left));
    while (bin + 1 < frame.bins && at.x() >= frame.x(bin + 1))
        ++bin;
    Cell cell{rank, frame.firstOf(bin)};
    for (std::size_t column = frame.firstOf(bin); column < frame.firstOf(bin + 1); ++column)
        if (grid_.at(rank, column).value_or(-1) > grid_.at(rank, cell.column).value_or(-1))
            cell.column = column;
    return cell;
}

QString LatenessPlot::words(const Cell& cell) const
{
    const std::optional<double>& late = grid_.at(cell.rank, cell.column);
    const QString& name = grid_.names[cell.column];
    const QString& rank = grid_.ranks[cell.rank].title;
    return !late       ? tr("%1: not measured on %2").arg(name, rank)
           : *late > 0 ? tr("%1: %2 starts %3 after the first rank").arg(name, rank, timeText(*late))
                       : tr("%1: %2 starts first").arg(name, rank);
}

void LatenessPlot::describe()
{
    setAccessibleDescription(current_          ? words(*current_)
                             : grid_.isEmpty() ? tr("no collective")
                                               : grid_.lastWords());
}

void LatenessPlot::mouseMoveEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->pos());
    emit cellText(cell ? words(*cell) : QString());
}

void LatenessPlot::mouseReleaseEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->pos());
    if (!cell || event->button() != Qt::LeftButton)
        return;
    current_ = cell;
    describe();
    update();
    emit chosen(grid_.collectives[cell->column], grid_.ranks[cell->rank].process);
}

void LatenessPlot::leaveEvent(QEvent*)
{
    emit cellText({});
}

void LatenessPlot::keyPressEvent(QKeyEvent* event)
{
    if (grid_.isEmpty())
        return QWidget::keyPressEvent(event);
    Cell cell = current_.value_or(Cell{});
    switch (event->key()) {
    case Qt::Key_Left:
        cell.column -= cell.column > 0 ? 1 : 0;
        break;
    case Qt::Key_Right:
        cell.column = std::min(cell.column + 1, grid_.collectives.size() - 1);
        break;
    case Qt::Key_Up:
        cell.rank -= cell.rank > 0 ? 1 : 0;
        break;
    case Qt::Key_Down:
        cell.rank = std::min(cell.rank + 1, grid_.ranks.size() - 1);
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit chosen(grid_.collectives[cell.column], grid_.ranks[cell.rank].process);
        return;
    default:
        return QWidget::keyPressEvent(event);
    }
    current_ = cell;
    describe();
    update();
    emit cellText(words(cell));
    emit marked(grid_.collectives[cell.column]);
}

void LatenessPlot::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void LatenessPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

void LatenessPlot::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return table(); });
}

bool LatenessPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto cell = cellAt(help->pos());
    if (cell)
        QToolTip::showText(help->globalPos(),
                           tipOfLines({words(*cell), tr("A click shows it on the timeline.")}), this);
    else
        QToolTip::hideText();
    return true;
}

} // namespace tilescope::ui
