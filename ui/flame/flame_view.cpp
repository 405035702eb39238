#include "ui/flame/flame_view.h"

#include "core/base/quantity.h"
#include "core/exchange/tables/sections.h"
#include "ui/kit/count_text.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollArea>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace tilescope::ui {

namespace {

using Node = query::CallTree::Node;
using query::CallKind;
using query::CallTree;

// In design pixels.
constexpr double kRow = 24;
constexpr double kTallRow = 42; ///< if there is space: name and time on two lines
constexpr double kTwoLines = 36;
constexpr double kLeastLabel = 26; ///< narrower boxes have no text
constexpr double kPadding = 5;
constexpr double kApart = 12;     ///< between name and time
constexpr double kLeastBox = 0.7; ///< narrower boxes of one row are drawn as one

/// For two runs: the colour of faster or slower; it is stronger if more of the box changed.
QColor colourOfChange(double change)
{
    constexpr double kStrongest = 0.85;
    const Palette& palette = colours();
    const QColor& sign = change > 0 ? palette.warning : palette.faster;
    return blend(sign, palette.raised, kStrongest * std::abs(change));
}

QColor colourOf(const query::FlameBox& box, CallKind kind, std::size_t row)
{
    const Palette& palette = colours();
    if (box.hue.isWait() && kind == CallKind::Frame) // what ends the stack has the colour
        return blend(palette.hue(box.hue), palette.surface, palette.dark ? 0.5 : 0.4);
    switch (kind) {
    case CallKind::Op: // as host ops on the timeline
        return blend(palette.hue(box.hue), palette.surface, palette.dark ? 0.78 : 0.62);
    case CallKind::Cause:
    case CallKind::Call:
        return palette.hue(box.hue);
    case CallKind::Process:
        return palette.ranges.front();
    case CallKind::Module:
        if (box.hue == query::Hue::Range)
            return palette.ranges[std::min(row, palette.ranges.size() - 1)];
        return palette.hue(box.hue);
    default:
        return palette.hue(box.hue);
    }
}

} // namespace

QString countText(const query::FlameGraph& graph, Node node)
{
    const query::CallTreeTable& tree = graph.table;
    const auto words = [&tree](std::int64_t count) {
        return tree.weight == query::CallWeight::Allocated ? counted(count, "allocation")
               : tree.weight == query::CallWeight::Idle || tree.weight == query::CallWeight::Samples
                   ? counted(count, "sample")
               : tree.onGpu && tree.weight == query::CallWeight::Time
                   ? counted(count, "GPU activity", "GPU activities")
                   : counted(count, "op");
    };
    if (!graph.difference)
        return words(graph.sums.count[node]);
    // Amounts are those of a mean step, counts those of all steps.
    const auto ofSteps = [&](std::int64_t count, std::int64_t steps) {
        return graph.difference->isPerStep() && steps > 1
                   ? FlameView::tr("%1 in %2").arg(words(count), counted(steps, "step"))
                   : words(count);
    };
    return FlameView::tr("A %1, B %2")
        .arg(ofSteps(graph.difference->countA[node], graph.difference->stepsA),
             ofSteps(graph.difference->countB[node], graph.difference->stepsB));
}

QString amountText(const query::CallTreeTable& tree, double amount)
{
    switch (tree.weight) {
    case query::CallWeight::Allocated:
    case query::CallWeight::Moved:
        return byteText(amount);
    case query::CallWeight::Flops:
        return QString::fromStdString(quantity::withUnit(amount, quantity::Unit::Flops));
    case query::CallWeight::Samples:
        return counted(std::llround(amount), "sample");
    case query::CallWeight::Idle:
        return timeText(amount / double(std::max<std::int64_t>(1, tree.steps)));
    default:
        return timeText(amount);
    }
}

QString shareText(const query::FlameGraph& graph, Node node)
{
    if (graph.difference) {
        const auto a = double(graph.difference->totalA[node]);
        const auto b = double(graph.difference->totalB[node]);
        const QString sides =
            FlameView::tr("A %1, B %2").arg(amountText(graph.table, a), amountText(graph.table, b));
        return a > 0 && b > 0
                   ? sides + QStringLiteral(", %1").arg(withUnit(signedDigits(100 * (b - a) / a), "%"))
                   : sides;
    }
    const std::int64_t amount = graph.sums.amount[node];
    return QStringLiteral("%1, %2").arg(amountText(graph.table, double(amount)),
                                        percentText(graph.shareOfAll(amount)));
}

FlameView::FlameView(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Flame graph"));
    describe();
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

void FlameView::show(std::shared_ptr<const query::FlameGraph> graph)
{
    graph_ = std::move(graph);
    matches_ = {};
    selected_ = zoomed_ = CallTree::kRoot;
    under_.reset();
    updateGeometry();
    update();
    describe();
    emit zoomChanged();
    emit selectionChanged();
}

// For screen readers: the selection, the visible part, and the result of a search.
void FlameView::describe()
{
    if (!graph_ || graph_->sums.amount.empty())
        return setAccessibleDescription(tr("nothing to show"));
    const auto boxText = [this](Node node) {
        return QString::fromStdString(graph_->labelOf(node)) + QStringLiteral(", ") +
               shareText(*graph_, node);
    };
    QStringList words;
    words << (selected_ == CallTree::kRoot ? tr("no box is selected") : boxText(selected_));
    words << (zoomed_ == CallTree::kRoot
                  ? tr("all of %1 in %2")
                        .arg(graph_->difference ? shareText(*graph_, CallTree::kRoot)
                                                : amountText(graph_->table, double(graph_->width())),
                             counted(std::ssize(graph_->rows), "row"))
                  : tr("zoomed to %1").arg(boxText(zoomed_)));
    if (matches_.boxes > 0)
        words << counted(matches_.boxes, "found box", "found boxes");
    setAccessibleDescription(words.join(QStringLiteral("; ")));
}

void FlameView::setMatches(query::FlameMatches matches)
{
    matches_ = std::move(matches);
    update();
    describe();
}

void FlameView::select(Node node)
{
    if (!graph_ || node == selected_ || node >= graph_->sums.amount.size() || graph_->sums.amount[node] == 0)
        return;
    selected_ = node;
    update();
    describe();
    emit selectionChanged();
}

void FlameView::zoomTo(Node node)
{
    if (!graph_ || node == zoomed_)
        return;
    const Node before = std::exchange(zoomed_, node);
    ViewHistory::note(*this, {.name = tr("zoom"),
                              .undo = [this, before] { zoomTo(before); },
                              .redo = [this, node] { zoomTo(node); },
                              .of = graph_});
    update();
    describe();
    emit zoomChanged();
}

// Few rows are higher.
int FlameView::rowHeight() const
{
    const int rows = graph_ ? std::max(1, int(graph_->rows.size())) : 1;
    return std::clamp((height() - 1) / rows, sizes().of(kRow), sizes().of(kTallRow));
}

QSize FlameView::sizeHint() const
{
    return {sizes().of(600), int(graph_ ? graph_->rows.size() : 1) * sizes().of(kRow) + 1};
}

QSize FlameView::minimumSizeHint() const
{
    return {sizes().of(200), sizeHint().height()};
}

double FlameView::xOf(std::int64_t time, double width) const
{
    std::int64_t from = 0;
    std::int64_t to = graph_->width();
    if (zoomed_ != CallTree::kRoot) {
        from = graph_->boxOf(zoomed_).start;
        to = graph_->boxOf(zoomed_).end;
    }
    return double(time - from) * width / double(std::max<std::int64_t>(1, to - from));
}

QRectF FlameView::rectOf(Node node) const
{
    if (!graph_ || node == CallTree::kRoot)
        return {};
    const query::FlameBox& box = graph_->boxOf(node);
    const double left = std::max(0.0, xOf(box.start, width()));
    const double right = std::min(double(width()), xOf(box.end, width()));
    if (right <= left)
        return {};
    return {left, double(graph_->places[node].row) * rowHeight(), right - left, double(rowHeight())};
}

std::optional<Node> FlameView::at(QPoint point) const
{
    if (!graph_ || point.y() < 0 || point.x() < 0 || point.x() >= width())
        return {};
    const auto row = std::size_t(point.y() / rowHeight());
    if (row >= graph_->rows.size())
        return {};
    const std::vector<query::FlameBox>& boxes = graph_->rows[row];
    const auto box = std::ranges::partition_point(
        boxes, [&](const query::FlameBox& each) { return xOf(each.end, width()) <= point.x(); });
    if (box == boxes.end() || xOf(box->start, width()) > point.x())
        return {};
    return box->node;
}

void FlameView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
    if (!graph_)
        return;
    painter.setBrush(Qt::NoBrush);
    if (under_ && *under_ != selected_) {
        painter.setPen(QPen(colours().dimText, 1));
        painter.drawRect(rectOf(*under_).adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (selected_ != CallTree::kRoot) {
        painter.setPen(QPen(colours().accent, 2));
        painter.drawRect(rectOf(selected_).adjusted(1, 1, -1, -1));
    }
}

void FlameView::draw(QPainter& painter, const QSize& size) const
{
    painter.fillRect(QRect({0, 0}, size), colours().surface);
    if (!graph_)
        return;
    painter.setFont(Theme::instance().small());
    for (std::size_t row = 0; row < graph_->rows.size(); ++row)
        paintRow(painter, row, size);
}

QByteArray FlameView::csv() const
{
    if (!graph_)
        return {};
    std::ostringstream out;
    exchange::writeCsv(
        out, graph_->difference
                 ? exchange::tableOf(graph_->difference, 0)
                 : exchange::tableOf(std::make_shared<const query::CallTreeTable>(graph_->table), 0));
    return QByteArray::fromStdString(out.str());
}

// The boxes that are in view; a row costs what its pixels cost.
void FlameView::paintRow(QPainter& painter, std::size_t row, const QSize& size) const
{
    const std::vector<query::FlameBox>& boxes = graph_->rows[row];
    const double top = double(row) * rowHeight();
    auto box = std::ranges::partition_point(
        boxes, [&](const query::FlameBox& each) { return xOf(each.end, size.width()) <= 0; });
    while (box != boxes.end()) {
        const double left = xOf(box->start, size.width());
        if (left >= size.width())
            return;
        double right = xOf(box->end, size.width());
        auto next = std::next(box);
        if (right - left < kLeastBox) { // merged with the following narrow boxes
            const double edge = left + kLeastBox;
            next = std::partition_point(next, boxes.end(), [&](const query::FlameBox& each) {
                return xOf(each.end, size.width()) <= edge;
            });
            right = std::max(right, edge);
        }
        paintBox(painter, *box,
                 QRectF(QPointF(std::max(left, 0.0), top),
                        QPointF(std::min(right, double(size.width())), top + rowHeight() - 1)),
                 row);
        box = next;
    }
}

void FlameView::paintBox(QPainter& painter, const query::FlameBox& box, const QRectF& rect,
                         std::size_t row) const
{
    const CallTree& tree = graph_->table.tree;
    const std::optional<double> change = query::changeOf(*graph_, box.node);
    const QColor fill = change ? colourOfChange(*change) : colourOf(box, tree.entries()[box.node].kind, row);
    constexpr double kGap = 1;
    const bool hasGap = rect.width() > 3 * kGap;
    painter.fillRect(rect.adjusted(0, 0, hasGap ? -kGap : 0, 0), fill);
    if (box.node < matches_.has.size() && matches_.has[box.node]) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colours().text, 1.5));
        painter.drawRect(rect.adjusted(1, 1, hasGap ? -2 : -1, -1));
    }
    if (rect.width() < sizes().of(kLeastLabel))
        return;
    const QRectF room = rect.adjusted(sizes().of(kPadding), 0, -sizes().of(kPadding), 0);
    const QFontMetrics metrics(painter.font());
    const QString name = QString::fromStdString(graph_->labels[box.label]);
    const QString share = shareText(*graph_, box.node);
    const double nameWidth = metrics.horizontalAdvance(name);
    const double shareWidth = metrics.horizontalAdvance(share);
    const bool isTall = rect.height() >= sizes().of(kTwoLines);
    const bool below = isTall && shareWidth <= room.width();
    const bool beside = !isTall && nameWidth + shareWidth + sizes().of(kApart) <= room.width();
    const QRectF first = below ? room.adjusted(0, 0, 0, -room.height() / 2 + 1) : room;
    painter.setPen(textOn(fill));
    painter.drawText(first, (below ? Qt::AlignBottom : Qt::AlignVCenter) | Qt::AlignLeft,
                     elidedText(name, metrics, Qt::ElideRight, int(room.width())));
    if (!below && !beside)
        return;
    QColor pale = textOn(fill);
    constexpr float kPale = 0.75F;
    pale.setAlphaF(kPale);
    painter.setPen(pale);
    if (below)
        painter.drawText(room.adjusted(0, room.height() / 2, 0, 0), Qt::AlignTop | Qt::AlignLeft, share);
    else
        painter.drawText(room, Qt::AlignVCenter | Qt::AlignRight, share);
}

void FlameView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        if (const auto node = at(event->position().toPoint()))
            select(*node);
}

void FlameView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const auto node = at(event->position().toPoint()))
        zoomTo(*node == zoomed_ ? CallTree::kRoot : *node);
}

void FlameView::mouseMoveEvent(QMouseEvent* event)
{
    const auto node = at(event->position().toPoint());
    if (node == under_)
        return;
    under_ = node;
    update();
    emit hovered(node);
}

void FlameView::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    under_.reset();
    update();
    emit hovered(std::nullopt);
}

void FlameView::keyPressEvent(QKeyEvent* event)
{
    if (!graph_)
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return zoomTo(selected_);
    case Qt::Key_Backspace:
        return zoomTo(zoomed_ == CallTree::kRoot ? zoomed_ : graph_->table.tree.entries()[zoomed_].parent);
    case Qt::Key_Home:
        return zoomTo(CallTree::kRoot);
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
        return moveSelection(event->key());
    default:
        QWidget::keyPressEvent(event);
    }
}

// A right click selects its box; the menu key is about the selected one.
void FlameView::contextMenuEvent(QContextMenuEvent* event)
{
    if (!graph_)
        return;
    const bool isByKey = event->reason() == QContextMenuEvent::Keyboard;
    const auto node = isByKey ? std::nullopt : at(event->pos());
    if (node)
        select(*node);
    const Node of = isByKey ? selected_ : node.value_or(CallTree::kRoot);
    emit menuWanted(of, isByKey && of != CallTree::kRoot ? mapToGlobal(rectOf(of).center().toPoint())
                                                         : event->globalPos());
}

// Up and down change the depth, left and right the box of a row.
void FlameView::moveSelection(int key)
{
    if (graph_->rows.empty())
        return;
    if (selected_ == CallTree::kRoot)
        return select(graph_->rows.front().front().node);
    const query::FlameGraph::Place place = graph_->places[selected_];
    const std::vector<query::FlameBox>& row = graph_->rows[place.row];
    Node to = selected_;
    if (key == Qt::Key_Up && place.row > 0) {
        to = graph_->table.tree.entries()[selected_].parent;
    } else if (key == Qt::Key_Left && place.box > 0) {
        to = row[place.box - 1].node;
    } else if (key == Qt::Key_Right && place.box + 1 < row.size()) {
        to = row[place.box + 1].node;
    } else if (key == Qt::Key_Down && place.row + 1 < graph_->rows.size()) {
        const std::vector<query::FlameBox>& below = graph_->rows[place.row + 1];
        const auto child =
            std::ranges::lower_bound(below, graph_->boxOf(selected_).start, {}, &query::FlameBox::start);
        if (child != below.end() && graph_->table.tree.entries()[child->node].parent == selected_)
            to = child->node;
    }
    select(to);
    reveal(to);
}

void FlameView::reveal(Node node)
{
    const QRectF rect = rectOf(node);
    for (QWidget* above = parentWidget(); above != nullptr; above = above->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(above))
            return area->ensureVisible(0, int(rect.center().y()), 0, rowHeight());
}

QString FlameView::tipOf(Node node) const
{
    const CallTree& tree = graph_->table.tree;
    const QString name = QString::fromStdString(tree.nameOf(node));
    const QString label = QString::fromStdString(graph_->labelOf(node));
    QStringList lines{label, shareText(*graph_, node)};
    if (label != name)
        lines << name;
    lines << countText(*graph_, node);
    return tipOfLines(lines);
}

bool FlameView::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event); // NOLINT(cppcoreguidelines-pro-type-static-cast-downcast)
    if (const auto node = at(help->pos()))
        QToolTip::showText(help->globalPos(), tipOf(*node), this, rectOf(*node).toRect());
    else
        QToolTip::hideText();
    return true;
}

} // namespace tilescope::ui
