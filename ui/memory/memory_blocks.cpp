#include "ui/memory/memory_blocks.h"

#include "core/exchange/memory/memory_columns.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/timeline/column_bands.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr double kNear = 4; ///< pixels by which a click may miss a box

/// A group's colour over the background by coverage in eighths, with a visible minimum.
class Shades {
public:
    Shades(const QColor& colour, const QColor& ground)
    {
        for (int eighth = 1; eighth <= kSteps; ++eighth)
            shades_[std::size_t(eighth) - 1] =
                blend(colour, ground, std::max(0.34, double(eighth) / kSteps)).rgb();
    }
    QRgb of(float share) const
    {
        return shades_[std::size_t(std::clamp(int(std::ceil(share * kSteps)), 1, kSteps)) - 1];
    }
    QRgb whole() const { return shades_.back(); }

private:
    static constexpr int kSteps = 8;
    std::array<QRgb, kSteps> shades_{};
};

/// Whole pixels: neighbours neither overlap nor leave seams, except a hairline if there is room.
QRect pixelsOf(const query::DrawnMemory& box)
{
    const int left = int(std::lround(box.left));
    const int top = int(std::lround(box.top));
    const int width = std::max(int(std::lround(box.right)) - left, 1);
    const int height = std::max(int(std::lround(box.bottom)) - top, 1);
    return {left, top, width - (width > 4 ? 1 : 0), height - (height > 4 ? 1 : 0)};
}

} // namespace

MemoryBlocks::MemoryBlocks(MemoryAxis& axis, QWidget* parent) : MemoryChart(axis, parent)
{
    setAccessibleName(tr("Blocks of memory over time"));
}

void MemoryBlocks::show(const MemoryRun& run, std::shared_ptr<const query::MemoryGroups> groups,
                        std::shared_ptr<const query::MemoryLayout> layout,
                        std::shared_ptr<const query::MemoryLevels> levels)
{
    const bool same = run_ && run_->history == run.history && layout_ && layout &&
                      layout_->placing == layout->placing && low_ > 0;
    run_ = run;
    groups_ = std::move(groups);
    swatches_ = groups_ ? swatchesOf(*groups_) : std::vector<Swatch>();
    layout_ = std::move(layout);
    levels_ = std::move(levels);
    if (!same && layout_)
        fitBytes();
    outdate();
}

void MemoryBlocks::clear()
{
    run_.reset();
    layout_.reset();
    levels_.reset();
    groups_.reset();
    selected_.reset();
    segment_.reset();
    outdate();
}

void MemoryBlocks::setOps(std::shared_ptr<const query::MemoryOps> ops)
{
    if (!run_)
        return;
    run_->ops = std::move(ops);
    outdate();
}

void MemoryBlocks::select(std::optional<std::uint32_t> block)
{
    selected_ = block;
    segment_.reset();
    update();
}

void MemoryBlocks::selectSegment(std::optional<std::uint64_t> address)
{
    selected_.reset();
    segment_ = address;
    update();
}

// Geometry
// ----------------------------------------------------------------------------------------------------------

double MemoryBlocks::yOf(double bytes, const QRect& plot) const
{
    return plot.top() + (high_ - bytes) / (high_ - low_) * plot.height();
}

double MemoryBlocks::bytesAt(double y) const
{
    const QRect area = plot();
    return high_ - (y - area.top()) / area.height() * (high_ - low_);
}

query::MemoryFrame MemoryBlocks::frameOf(const QRect& plot) const
{
    const TimeWindow own = axis().window().panned(double(run_->zero()));
    return {own.from, own.to, low_, high_, plot.width(), plot.height()};
}

QColor MemoryBlocks::colourOfGroup(std::size_t group) const
{
    return colourOf(swatches_[group], colours());
}

void MemoryBlocks::setBytes(double low, double high)
{
    const auto whole = double(layout_->height);
    const double length = std::clamp(high - low, std::min(whole, 4096.0), whole);
    low_ = std::clamp(low, 0.0, whole - length);
    high_ = low_ + length;
    outdate();
}

bool MemoryBlocks::zoomBytes(double factor, double y)
{
    const double fixed = std::clamp(bytesAt(y), 0.0, double(layout_->height));
    setBytes(fixed - (fixed - low_) * factor, fixed + (high_ - fixed) * factor);
    return true;
}

bool MemoryBlocks::scrollBytes(double part)
{
    if (!layout_ || high_ - low_ >= double(layout_->height))
        return false;
    const double by = part * (high_ - low_);
    setBytes(low_ + by, high_ + by);
    return true;
}

// Everything, but of memory from before the trace, about which nothing is known, only the upper edge where it would take
// much of the height.
void MemoryBlocks::fitBytes()
{
    const auto whole = double(layout_->height);
    const auto unknown = double(layout_->restMost);
    constexpr double kMuch = 0.25;
    constexpr double kEdge = 0.06; // of what is known
    const bool isCut = layout_->placing == query::MemoryPlacing::Address &&
                       layout_->blocks == run_->history->blocks.size() && unknown > kMuch * whole &&
                       unknown < whole;
    setBytes(isCut ? unknown - kEdge * (whole - unknown) : 0, whole);
}

void MemoryBlocks::fit()
{
    if (layout_)
        fitBytes();
    MemoryChart::fit();
}

void MemoryBlocks::zoomTo(const query::MemoryBox& box)
{
    const double bytes = double(box.high - box.low);
    const TimeWindow life = TimeWindow{double(box.from), double(box.to)}.panned(-double(run_->zero()));
    axis().setWindow(life.zoomed(1.2, (life.from + life.to) / 2));
    setBytes(double(box.low) - 2 * bytes, double(box.high) + 2 * bytes);
}

void MemoryBlocks::zoomToSelection()
{
    if (axis().span())
        return MemoryChart::zoomToSelection();
    if (!selected_ || isEmpty())
        return;
    for (const query::MemoryBox& box : layout_->boxes)
        if (box.block == *selected_)
            return zoomTo(box);
}

std::optional<std::size_t> MemoryBlocks::boxAt(QPointF at) const
{
    if (isEmpty())
        return {};
    const QRect area = plot();
    const double perPixel = axis().window().length() / area.width();
    return layout_->hit(timeAt(at.x()) + double(run_->zero()), bytesAt(at.y()), kNear * perPixel,
                        kNear * (high_ - low_) / area.height());
}

void MemoryBlocks::clicked(QPointF at)
{
    MemoryChart::clicked(at);
    const auto box = boxAt(at);
    emit blockClicked(box ? std::int64_t(layout_->boxes[*box].block) : -1);
}

void MemoryBlocks::doubleClicked(QPointF at)
{
    if (const auto box = boxAt(at))
        zoomTo(layout_->boxes[*box]);
    else
        fit();
}

void MemoryBlocks::escape()
{
    MemoryChart::escape();
    emit blockClicked(-1);
}

// Drawing
// ----------------------------------------------------------------------------------------------------------

void MemoryBlocks::drawScale(QPainter& painter, const QRect& plot) const
{
    const Palette& p = colours();
    if (layout_->placing == query::MemoryPlacing::Stacked) {
        const Unit unit = byteUnit(high_);
        const double step =
            roundStep((high_ - low_) / unit.divisor / std::max(2.0, plot.height() / double(sizes().of(38))));
        for (double value = std::ceil(low_ / unit.divisor / step) * step;
             value * unit.divisor <= high_ * 1.0001; value += step) {
            const bool last = (value + step) * unit.divisor > high_ * 1.0001;
            const QString number = tickText(std::abs(value) < step / 2 ? 0 : value);
            drawByteLine(painter, plot, std::round(yOf(value * unit.divisor, plot)),
                         last ? withUnit(number, unit.suffix) : number);
        }
        return;
    }
    // A background for each address range, with its size if there is room.
    const int height = painter.fontMetrics().height();
    double free = plot.bottom() + height;
    const auto label = [&](double top, double bottom, std::int64_t bytes) {
        const double middle = std::clamp((top + bottom) / 2, double(plot.top()), double(plot.bottom()));
        if (bottom - top < height * 0.6 || middle + height / 2.0 > free)
            return;
        free = middle - height / 2.0;
        painter.setPen(p.dimText);
        painter.drawText(QRectF(0, middle - height / 2.0, plot.left() - sizes().of(7), height),
                         Qt::AlignRight | Qt::AlignVCenter, byteText(double(bytes)));
    };
    for (const query::MemoryArea& area : layout_->areas) {
        const double top = std::max(yOf(double(area.low + area.bytes), plot), double(plot.top()));
        const double bottom = std::min(yOf(double(area.low), plot), double(plot.bottom() + 1));
        if (bottom <= plot.top() || top >= plot.bottom())
            continue;
        painter.fillRect(QRectF(plot.left(), top, plot.width(), bottom - top), p.laneGround);
        label(top, bottom, area.bytes);
    }
}

void MemoryBlocks::drawRest(QPainter& painter, const QRect& plot) const
{
    if (layout_->restMost <= 0)
        return;
    const query::MemoryFrame frame = frameOf(plot);
    const query::StepCurve& count = run_->history->allocated;
    const double perColumn = (frame.to - frame.from) / frame.width;
    const auto columnAt = [&](double time) {
        return std::clamp(int(std::floor((time - frame.from) / perColumn)), 0, frame.width);
    };
    const int first = columnAt(double(count.time(0)));
    const int last = std::min(frame.width, columnAt(double(run_->history->length)) + 1);
    std::vector<ColumnBand> bands;
    const bool stacked = layout_->placing == query::MemoryPlacing::Stacked;
    for (int i = first; i < last; ++i) {
        const double from = frame.from + perColumn * i;
        // The moment at which most was allocated, as the curves above show it.
        const std::int64_t time = count.highest(std::int64_t(from), std::int64_t(from + perColumn));
        const double rest = double(layout_->restAt(*run_->history, time));
        const double low = stacked ? double(count.at(time)) - rest : 0;
        bands.push_back({int(std::lround(yOf(low + rest, plot))), int(std::lround(yOf(low, plot)))});
    }
    const Palette& p = colours();
    hatchBands(painter, plot.left() + first, bands, p.unattributed, blend(p.unattributed, p.surface, 0.35));
}

// Draws shapes, for a vector file.
void MemoryBlocks::drawShapes(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing) const
{
    std::vector<QColor> colours;
    std::vector<Shades> shades;
    for (std::size_t group = 0; group < groups_->names.size(); ++group) {
        colours.push_back(colourOfGroup(group));
        shades.emplace_back(colours.back(), ui::colours().laneGround);
    }
    for (const query::MergedMemory& run : drawing.merged)
        painter.fillRect(QRectF(plot.left() + run.from, plot.top() + run.row, run.to - run.from, 1),
                         QColor(shades[run.group].of(run.share)));
    for (const query::DrawnMemory& box : drawing.boxes)
        painter.fillRect(pixelsOf(box).translated(plot.topLeft()), colours[box.group]);
}

// On screen: one picture, in which each pixel is written once.
void MemoryBlocks::drawPixels(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing)
{
    if (drawing.merged.empty() && drawing.boxes.empty())
        return;
    std::vector<Shades> shades;
    for (std::size_t group = 0; group < groups_->names.size(); ++group)
        shades.emplace_back(colourOfGroup(group), colours().laneGround);
    if (image_.size() != plot.size())
        image_ = QImage(plot.size(), QImage::Format_ARGB32_Premultiplied);
    image_.fill(Qt::transparent);
    const auto line = [this](int row) { return reinterpret_cast<QRgb*>(image_.scanLine(row)); };
    for (const query::MergedMemory& run : drawing.merged)
        std::fill(line(run.row) + run.from, line(run.row) + run.to, shades[run.group].of(run.share));
    for (const query::DrawnMemory& box : drawing.boxes) {
        const QRect pixels = pixelsOf(box) & image_.rect();
        const QRgb colour = shades[box.group].whole();
        for (int row = pixels.top(); row <= pixels.bottom(); ++row)
            std::fill_n(line(row) + pixels.left(), pixels.width(), colour);
    }
    painter.drawImage(plot.topLeft(), image_);
}

// Draws the names of boxes that have space for them.
void MemoryBlocks::drawNames(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing,
                             std::vector<QRectF>& names) const
{
    const QFontMetrics metrics = painter.fontMetrics();
    const double lineHeight = metrics.height() + 1;
    for (const query::DrawnMemory& box : drawing.boxes) {
        const double left = plot.left() + std::round(box.left);
        const double right = plot.left() + std::round(box.right);
        const double top = plot.top() + std::round(box.top);
        const double bottom = plot.top() + std::round(box.bottom);
        const double room = right - left - sizes().of(10);
        if (bottom - top < lineHeight || room < sizes().of(36))
            continue;
        const std::uint32_t block = layout_->boxes[box.box].block;
        const QString bytes = byteText(double(run_->history->blocks[block].bytes));
        const QString full = blockName(*run_, block) + QLatin1Char(' ') + bytes;
        QString text = metrics.horizontalAdvance(full) <= room ? full : QString();
        if (text.isEmpty()) {
            const QString shorter = full.section(QLatin1Char('/'), -1);
            text = metrics.horizontalAdvance(shorter) <= room ? shorter
                   : metrics.horizontalAdvance(bytes) <= room ? bytes
                                                              : QString();
        }
        if (text.isEmpty())
            continue;
        painter.setPen(textOn(colourOfGroup(box.group)));
        const QRectF place(left + sizes().of(5), top, room + sizes().of(5), bottom - top);
        painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, text);
        names.emplace_back(place.left() - 2, place.center().y() - metrics.height() / 2.0,
                           metrics.horizontalAdvance(text) + 4, metrics.height());
    }
}

void MemoryBlocks::drawData(QPainter& painter, const QRect& plot, bool vector, std::vector<QRectF>& names)
{
    drawScale(painter, plot);
    painter.save();
    painter.setClipRect(plot, Qt::IntersectClip);
    drawRest(painter, plot);
    const query::MemoryDrawing& drawing =
        drawer_.draw(*layout_, groups_->groupOf, frameOf(plot), levels_.get());
    if (vector)
        drawShapes(painter, plot, drawing);
    else
        drawPixels(painter, plot, drawing);
    drawNames(painter, plot, drawing, names);
    painter.restore();
}

void MemoryBlocks::drawSegmentMark(QPainter& painter, const QRect& plot) const
{
    for (const query::MemoryArea& area : layout_->areas) {
        if (area.address != *segment_)
            continue;
        const QRectF band(QPointF(plot.left(), yOf(double(area.low + area.bytes), plot)),
                          QPointF(plot.right() + 1, yOf(double(area.low), plot)));
        const QRectF rect = band.intersected(QRectF(plot).adjusted(0, -4, 0, 4));
        if (!rect.isValid())
            return;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colours().surface, 4));
        painter.drawRect(rect);
        painter.setPen(QPen(colours().text, 2));
        painter.drawRect(rect);
    }
}

void MemoryBlocks::drawMarks(QPainter& painter, const QRect& plot)
{
    if (segment_)
        drawSegmentMark(painter, plot);
    if (!selected_)
        return;
    const Palette& p = colours();
    const query::MemoryFrame frame = frameOf(plot);
    query::MemoryLife life = run_->history->blocks[*selected_];
    life.end = std::min(life.end, run_->history->length);
    layout_->eachWithin(frame.from, frame.to, [&](std::size_t i) {
        const query::MemoryBox& box = layout_->boxes[i];
        if (box.block != *selected_)
            return;
        QRectF rect(QPointF(plot.left() + frame.x(double(box.from)), yOf(double(box.high), plot)),
                    QPointF(plot.left() + frame.x(double(box.to)), yOf(double(box.low), plot)));
        // Outlines would hide boxes that change their place often.
        if (rect.width() < 4 && box.to - box.from < life.end - std::max<std::int64_t>(0, life.begin))
            return;
        rect = rect.intersected(QRectF(plot).adjusted(-4, -4, 4, 4)).adjusted(-1, -1, 1, 1);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(p.surface, 4));
        painter.drawRect(rect);
        painter.setPen(QPen(p.text, 2));
        painter.drawRect(rect);
    });
}

// Words
// ----------------------------------------------------------------------------------------------------------

QString MemoryBlocks::reading(QPointF at) const
{
    const QString time = timeText(timeAt(at.x()));
    const auto box = boxAt(at);
    if (!box)
        return time;
    const std::uint32_t block = layout_->boxes[*box].block;
    return time + QStringLiteral("   ") + blockName(*run_, block) + QLatin1Char(' ') +
           byteText(double(run_->history->blocks[block].bytes));
}

QString MemoryBlocks::tip(QPointF at) const
{
    const auto box = boxAt(at);
    if (!box) {
        const auto time = std::int64_t(timeAt(at.x())) + run_->zero();
        const double rest = layout_->restMost > 0 ? double(layout_->restAt(*run_->history, time)) : 0;
        const double bytes = bytesAt(at.y());
        const double low = layout_->placing == query::MemoryPlacing::Stacked
                               ? double(run_->history->allocated.at(time)) - rest
                               : 0;
        if (rest > 0 && bytes >= low && bytes <= low + rest)
            return tr("the rest: %1, not drawn as boxes").arg(byteText(rest));
        return {};
    }
    const std::uint32_t block = layout_->boxes[*box].block;
    QString lines = QStringLiteral("<b>%1</b>").arg(blockName(*run_, block).toHtmlEscaped());
    constexpr int kMostFrames = 8;
    int frames = 0;
    for (const auto& [key, value, dim] : blockFacts(*run_, block))
        if (!key.isEmpty())
            lines += QStringLiteral("<br>%1: %2").arg(key.toHtmlEscaped(), value.toHtmlEscaped());
        else if (++frames < kMostFrames)
            lines += QStringLiteral("<br>&nbsp;&nbsp;%1").arg(value.toHtmlEscaped());
        else if (frames == kMostFrames)
            lines += QStringLiteral("<br>&nbsp;&nbsp;…");
    return lines;
}

TableData MemoryBlocks::table() const
{
    if (isEmpty())
        return {};
    const exchange::MemoryBlockColumns of(*run_->history, run_->ops.get(), run_->zero());
    std::vector<std::uint32_t> blocks;
    const query::MemoryFrame frame = frameOf(plot());
    std::vector<bool> seen(run_->history->blocks.size(), false);
    layout_->eachWithin(frame.from, frame.to, [&](std::size_t i) {
        const std::uint32_t block = layout_->boxes[i].block;
        if (!seen[block])
            blocks.push_back(block);
        seen[block] = true;
    });
    return plainTable({&of.name, &of.category, &of.range, &of.bytes, &of.address, &of.since, &of.lifetime},
                      blocks);
}

} // namespace tilescope::ui
