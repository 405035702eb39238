#include "ui/memory/memory_segments.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

using State = analysis::PlacedBlock::State;

MemorySegments::MemorySegments(QWidget* parent) : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Segments at the instant"));
    viewport()->setMouseTracking(true);
    setMinimumSize(sizes().of(240), sizes().of(140));
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void MemorySegments::show(const MemoryRun& run, std::shared_ptr<const query::MemoryGroups> groups,
                          std::vector<query::MemoryStrip> strips)
{
    run_ = run;
    groups_ = std::move(groups);
    swatches_ = groups_ ? swatchesOf(*groups_) : std::vector<Swatch>();
    strips_ = std::move(strips);
    message_.clear();
    fitScrollBar();
    viewport()->update();
}

void MemorySegments::showMessage(const QString& text)
{
    run_.reset();
    groups_.reset();
    strips_.clear();
    message_ = text;
    fitScrollBar();
    viewport()->update();
}

void MemorySegments::select(std::optional<std::uint32_t> block)
{
    selected_ = block;
    segment_.reset();
    revealSelected();
}

void MemorySegments::selectSegment(std::optional<std::uint64_t> address)
{
    selected_.reset();
    segment_ = address;
    revealSelected();
}

std::optional<std::size_t> MemorySegments::stripSelected() const
{
    const auto found = std::ranges::find_if(strips_, [this](const query::MemoryStrip& strip) {
        return selected_ ? std::ranges::any_of(strip.parts,
                                               [this](const auto& part) { return part.block == selected_; })
                         : segment_ == strip.segment.address;
    });
    return found == strips_.end() ? std::nullopt : std::optional(std::size_t(found - strips_.begin()));
}

std::optional<std::uint64_t> MemorySegments::selectedSegment() const
{
    const auto strip = stripSelected();
    return strip ? std::optional(strips_[*strip].segment.address) : std::nullopt;
}

void MemorySegments::revealSelected()
{
    if (const auto strip = stripSelected()) {
        const int top = int(*strip) * rowHeight();
        const int first = verticalScrollBar()->value();
        if (top < first || top + rowHeight() > first + viewport()->height())
            verticalScrollBar()->setValue(top - viewport()->height() / 2);
    }
    viewport()->update();
}

int MemorySegments::rowHeight() const
{
    return sizes().of(20);
}

void MemorySegments::fitScrollBar()
{
    const int height = int(strips_.size()) * rowHeight();
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(rowHeight());
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
}

void MemorySegments::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    fitScrollBar();
}

QRect MemorySegments::rowRect(std::size_t strip) const
{
    const QFontMetrics metrics(Theme::instance().small());
    const int left = metrics.horizontalAdvance(QStringLiteral("1 000 MiB  100 %")) + sizes().of(14);
    return {left, int(strip) * rowHeight() - verticalScrollBar()->value() + sizes().of(2),
            std::max(1, viewport()->width() - left - sizes().of(10)), rowHeight() - sizes().of(5)};
}

QRectF MemorySegments::rectOf(std::size_t strip, std::size_t part) const
{
    const query::MemoryStrip::Part& one = strips_[strip].parts[part];
    const QRectF row = rowRect(strip);
    const double perByte = row.width() / double(std::max<std::int64_t>(1, strips_[strip].segment.bytes));
    return {row.left() + double(one.offset) * perByte, row.top(), double(one.size) * perByte, row.height()};
}

std::optional<MemorySegments::Place> MemorySegments::placeAt(QPoint at) const
{
    const int row = (at.y() + verticalScrollBar()->value()) / rowHeight();
    if (at.y() < 0 || std::size_t(row) >= strips_.size())
        return {};
    const query::MemoryStrip& strip = strips_[std::size_t(row)];
    for (std::size_t part = 0; part < strip.parts.size(); ++part)
        if (const QRectF rect = rectOf(std::size_t(row), part);
            at.x() >= rect.left() && at.x() < rect.right())
            return Place{std::size_t(row), part};
    return {};
}

QString MemorySegments::words(const Place& place) const
{
    const query::MemoryStrip& strip = strips_[place.strip];
    const query::MemoryStrip::Part& part = strip.parts[place.part];
    const QString size = byteText(double(part.size));
    const QString what = part.block                  ? blockName(*run_, *part.block) + QLatin1Char(' ') + size
                         : part.state == State::Free ? tr("free %1").arg(size)
                         : part.state == State::Pending
                             ? tr("freed but still used by a stream, %1").arg(size)
                             : tr("a block without an allocation event, %1").arg(size);
    const QString segment = strip.segment.isExpandable ? tr("%1, at %2 of expandable segment 0x%3, %4")
                                                       : tr("%1, at %2 of segment 0x%3, %4");
    return segment.arg(what, byteText(double(part.offset)))
        .arg(strip.segment.address, 0, 16)
        .arg(byteText(double(strip.segment.bytes)));
}

void MemorySegments::drawStrip(QPainter& painter, std::size_t index) const
{
    const Palette& p = colours();
    const query::MemoryStrip& strip = strips_[index];
    const QRect row = rowRect(index);
    const QFontMetrics metrics = painter.fontMetrics();
    if (stripSelected() == index)
        painter.fillRect(QRect(0, row.top() - 1, viewport()->width(), row.height() + 2), p.selectedRow);
    painter.setPen(p.dimText);
    const QString used =
        percentText(double(strip.used) / double(std::max<std::int64_t>(1, strip.segment.bytes)));
    const int share = metrics.horizontalAdvance(QStringLiteral("100 %")) + sizes().of(6);
    const QRect label(0, row.top(), row.left() - sizes().of(7), row.height());
    painter.drawText(label.adjusted(0, 0, -share, 0), Qt::AlignRight | Qt::AlignVCenter,
                     byteText(double(strip.segment.bytes)));
    painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter, used);
    painter.fillRect(row, p.laneGround);
    for (std::size_t i = 0; i < strip.parts.size(); ++i) {
        const query::MemoryStrip::Part& part = strip.parts[i];
        QRectF rect = rectOf(index, i);
        if (part.state == State::Free) {
            painter.fillRect(rect, QBrush(p.reservedFree, Qt::BDiagPattern));
            continue;
        }
        const QColor fill =
            part.block ? colourOf(swatches_[groups_->groupOf[*part.block]], p) : p.unattributed;
        // At least one pixel, and a hairline between neighbours.
        rect.setWidth(std::max(1.0, rect.width() > 4 ? rect.width() - 1 : rect.width()));
        painter.fillRect(rect, fill);
        const double room = rect.width() - sizes().of(8);
        if (part.block && room > sizes().of(36)) {
            const QString text = blockName(*run_, *part.block);
            if (metrics.horizontalAdvance(text) <= room) {
                painter.setPen(textOn(fill));
                painter.drawText(rect.adjusted(sizes().of(4), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                                 text);
            }
        }
        if (part.block && part.block == selected_) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(p.text, 2));
            painter.drawRect(rect.adjusted(1, 1, -1, -1));
        }
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(p.line);
    painter.drawRect(row.adjusted(0, 0, -1, -1));
}

void MemorySegments::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), colours().surface);
    if (strips_.empty()) {
        painter.setPen(colours().dimText);
        painter.drawText(viewport()->rect(), Qt::AlignCenter, message_);
        return;
    }
    painter.setFont(Theme::instance().small());
    const int top = verticalScrollBar()->value();
    const std::size_t first = std::size_t(top / rowHeight());
    const std::size_t last = std::size_t((top + viewport()->height()) / rowHeight()) + 1;
    for (std::size_t i = first; i < std::min(last, strips_.size()); ++i)
        drawStrip(painter, i);
}

void MemorySegments::mouseMoveEvent(QMouseEvent* event)
{
    const auto place = placeAt(event->pos());
    emit hovered(place ? words(*place) : QString());
}

void MemorySegments::mousePressEvent(QMouseEvent* event)
{
    const auto place = placeAt(event->pos());
    if (event->button() != Qt::LeftButton || strips_.empty())
        return;
    const auto block = place ? strips_[place->strip].parts[place->part].block : std::nullopt;
    const int row = (event->pos().y() + verticalScrollBar()->value()) / rowHeight();
    if (!block && std::size_t(row) < strips_.size())
        emit segmentClicked(strips_[std::size_t(row)].segment.address);
    else
        emit blockClicked(block ? std::int64_t(*block) : -1);
}

bool MemorySegments::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave)
        emit hovered({});
    if (event->type() != QEvent::ToolTip)
        return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto place = placeAt(help->pos()))
        QToolTip::showText(help->globalPos(), words(*place), this);
    else
        QToolTip::hideText();
    return true;
}

} // namespace tilescope::ui
