#include "ui/memory/memory_areas.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/timeline/column_bands.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kTop = 36; ///< design pixels above the highest value: names of steps and peaks

/// A run that has no groups yet is one area.
query::MemoryGroups outlineGroups(const MemoryRun& run)
{
    query::MemoryGroups groups;
    groups.names = {"unattributed"};
    groups.curves.emplace_back(run.history, &run.history->allocated);
    return groups;
}

QString titled(const MemoryRun& run, const QString& text)
{
    return run.letter.isEmpty() ? text : run.letter + QLatin1Char(' ') + text;
}

} // namespace

MemoryAreas::MemoryAreas(MemoryAxis& axis, QWidget* parent) : MemoryChart(axis, parent)
{
    setAccessibleName(tr("Memory over time"));
}

void MemoryAreas::show(std::vector<MemoryRun> runs, std::shared_ptr<const query::MemoryGroups> groups)
{
    runs_ = std::move(runs);
    groups_ = std::move(groups);
    most_ = 1;
    std::int64_t reserved = 0;
    for (const MemoryRun& run : runs_) {
        const query::MemoryHistory& history = *run.history;
        most_ = std::max(most_, history.allocated.value(history.allocated.peak()));
        if (run.hasReserved())
            reserved = std::max(reserved, history.reserved.value(history.reserved.peak()));
    }
    // Much more in reserve would leave little of the height to what is allocated.
    constexpr std::int64_t kMostReserved = 2;
    if (reserved <= kMostReserved * most_)
        most_ = std::max(most_, reserved);
    outdate();
}

QColor MemoryAreas::outlineOf(std::size_t run)
{
    const Palette& p = colours();
    const QColor each[] = {p.text, p.runB, p.warning, p.faster, p.error};
    return each[std::min(run, std::size(each) - 1)];
}

double MemoryAreas::yOf(double bytes, const QRect& plot) const
{
    const double height = plot.height() - sizes().of(kTop);
    return plot.bottom() + 1 - bytes / double(most_) * height;
}

MemoryAreas::Columns MemoryAreas::columnsOf(const MemoryRun& run, const query::MemoryGroups& groups,
                                            int width) const
{
    const TimeWindow own = axis().window().panned(double(run.zero()));
    const double perColumn = own.length() / width;
    const auto columnAt = [&](double time) {
        return std::clamp(int(std::floor((time - own.from) / perColumn)), 0, width);
    };
    Columns columns;
    columns.groups = groups.names.size();
    columns.first = columnAt(double(run.history->allocated.time(0)));
    columns.last = std::min(width, columnAt(double(run.history->length)) + 1);
    const auto count = std::size_t(std::max(0, columns.last - columns.first));
    if (double(run.history->length) < own.from || double(run.history->allocated.time(0)) > own.to)
        return columns;
    columns.stacks.resize(count);
    columns.bytes.resize(count * columns.groups);
    query::memoryStacks(*run.history, groups, own.from + columns.first * perColumn, perColumn, columns.stacks,
                        columns.bytes);
    return columns;
}

void MemoryAreas::drawScale(QPainter& painter, const QRect& plot) const
{
    const Unit unit = byteUnit(double(most_));
    const double most = double(most_) / unit.divisor;
    const double rows = std::max(2.0, plot.height() / double(sizes().of(38)));
    const double step = roundStep(most / rows);
    for (double value = 0; value <= most * 1.0001; value += step) {
        const bool last = value + step > most * 1.0001;
        const QString number = tickText(value);
        drawByteLine(painter, plot, std::round(yOf(value * unit.divisor, plot)),
                     last && value > 0 ? withUnit(number, unit.suffix) : number);
    }
}

void MemoryAreas::drawReserved(QPainter& painter, const QRect& plot, const Columns& columns) const
{
    if (!runs_.front().hasReserved() || columns.stacks.empty())
        return;
    QPolygonF line;
    std::vector<ColumnBand> free;
    for (std::size_t i = 0; i < columns.stacks.size(); ++i) {
        const double x = plot.left() + columns.first + double(i);
        // What is above the scale is cut.
        const double y =
            std::max(plot.top() - 2.0, std::round(yOf(double(columns.stacks[i].reserved), plot)));
        line << QPointF(x, y) << QPointF(x + 1, y);
        free.push_back({int(y), int(std::lround(yOf(double(columns.stacks[i].allocated), plot)))});
    }
    hatchBands(painter, plot.left() + columns.first, free, colours().reservedFree);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colours().text, 1));
    painter.drawPolyline(line);
}

void MemoryAreas::drawAreas(QPainter& painter, const QRect& plot) const
{
    const MemoryRun& run = runs_.front();
    const query::MemoryGroups whole = groups_ ? query::MemoryGroups{} : outlineGroups(run);
    const query::MemoryGroups& groups = groups_ ? *groups_ : whole;
    const std::vector<Swatch> swatches = swatchesOf(groups);
    const Columns columns = columnsOf(run, groups, plot.width());
    std::vector<ColumnBand> bands(columns.stacks.size(), ColumnBand{0, plot.bottom() + 1});
    std::vector<std::int64_t> sums(columns.stacks.size(), 0);
    for (std::size_t group = 0; group < columns.groups; ++group) {
        bool any = false;
        for (std::size_t i = 0; i < bands.size(); ++i) {
            sums[i] += columns.bytes[i * columns.groups + group];
            bands[i].top = int(std::lround(yOf(double(sums[i]), plot)));
            any = any || bands[i].top < bands[i].bottom;
        }
        if (any)
            fillBands(painter, plot.left() + columns.first, bands, colourOf(swatches[group], colours()));
        for (ColumnBand& band : bands)
            band.bottom = band.top; // the next group starts there
    }
    drawReserved(painter, plot, columns);
}

void MemoryAreas::drawOutline(QPainter& painter, const QRect& plot, std::size_t index) const
{
    const MemoryRun& run = runs_[index];
    const query::MemoryGroups groups = outlineGroups(run);
    const Columns columns = columnsOf(run, groups, plot.width());
    QPolygonF line;
    for (std::size_t i = 0; i < columns.stacks.size(); ++i) {
        const double x = plot.left() + columns.first + double(i);
        const double y = std::round(yOf(double(columns.stacks[i].allocated), plot));
        line << QPointF(x, y) << QPointF(x + 1, y);
    }
    painter.setBrush(Qt::NoBrush);
    // A pale outline separates the line from the background.
    painter.setPen(QPen(colours().surface, 3));
    painter.drawPolyline(line);
    painter.setPen(QPen(outlineOf(index), 1));
    painter.drawPolyline(line);
}

void MemoryAreas::drawLabels(QPainter& painter, const QRect& plot) const
{
    const Palette& p = colours();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    std::vector<QRectF> taken;
    const auto place = [&](const QString& text, double x, double y, const QColor& colour) {
        const QFontMetrics metrics = painter.fontMetrics();
        const double width = metrics.horizontalAdvance(text) + sizes().of(4);
        const bool left = x + sizes().of(8) + width > plot.right();
        QRectF rect(left ? x - sizes().of(8) - width : x + sizes().of(8), y - metrics.height() - 3, width,
                    metrics.height());
        for (bool moved = true; moved;) {
            moved = false;
            for (const QRectF& other : taken)
                if (other.intersects(rect)) {
                    rect.moveTop(other.bottom() + 1);
                    moved = true;
                }
        }
        taken.push_back(rect);
        QColor ground = p.surface;
        ground.setAlphaF(0.85F);
        painter.fillRect(rect, ground);
        painter.setPen(colour);
        painter.drawText(rect, Qt::AlignCenter, text);
    };
    const auto colourOf = [&](std::size_t i) { return i == 0 ? p.text : outlineOf(i); };
    const auto peakOf = [](const MemoryRun& run) {
        return double(run.history->allocated.at(run.peakTime()));
    };
    const auto pointOf = [&](const MemoryRun& run) {
        return QPointF(xAt(double(run.peakTime() - run.zero()), plot), yOf(peakOf(run), plot));
    };
    const auto isShown = [&plot](QPointF point) {
        return point.x() >= plot.left() && point.x() <= plot.right();
    };
    // Places all rings first, so that no label covers a ring.
    constexpr double kRing = 3.5;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const QPointF point = pointOf(runs_[i]);
        if (!isShown(point))
            continue;
        painter.setPen(QPen(colourOf(i), 1.4));
        painter.setBrush(p.surface);
        painter.drawEllipse(point, kRing, kRing);
        taken.emplace_back(point - QPointF(kRing + 1, kRing + 1), QSizeF(2 * kRing + 2, 2 * kRing + 2));
    }
    painter.setFont(Theme::instance().bold());
    for (std::size_t i = 0; i < runs_.size(); ++i)
        if (const QPointF point = pointOf(runs_[i]); isShown(point))
            place(titled(runs_[i], tr("peak %1 %2").arg(runs_[i].countWord(), byteText(peakOf(runs_[i])))),
                  point.x(), point.y(), colourOf(i));
    const MemoryRun& first = runs_.front();
    const TimeWindow& window = axis().window();
    const double end = std::min(window.to, double(first.history->length - first.zero()));
    if (first.hasReserved() && end > window.from) {
        const std::int64_t reserved = first.history->reserved.at(std::int64_t(end) + first.zero());
        painter.setFont(Theme::instance().small());
        const QString words = titled(first, tr("reserved %1").arg(byteText(double(reserved))));
        if (reserved <= most_)
            place(words, xAt(end, plot), yOf(double(reserved), plot), p.text);
        else
            place(tr("%1, above the scale").arg(words), xAt(end, plot), plot.top() + sizes().of(kTop),
                  p.text);
    }
    painter.restore();
}

void MemoryAreas::drawData(QPainter& painter, const QRect& plot, bool, std::vector<QRectF>&)
{
    drawScale(painter, plot);
    painter.save();
    painter.setClipRect(plot.adjusted(0, 0, 1, 1), Qt::IntersectClip);
    drawAreas(painter, plot);
    for (std::size_t i = 1; i < runs_.size(); ++i)
        drawOutline(painter, plot, i);
    painter.restore();
}

void MemoryAreas::drawMarks(QPainter& painter, const QRect& plot)
{
    const MemoryRun& run = runs_.front();
    const std::int64_t time = std::llround(axis().instant()) + run.zero();
    if (time == run.peakTime())
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colours().text, 1.4));
    painter.setBrush(colours().surface);
    painter.drawEllipse(
        QPointF(xAt(axis().instant(), plot), yOf(double(run.history->allocated.at(time)), plot)), 3, 3);
}

QString MemoryAreas::reading(QPointF at) const
{
    const double time = timeAt(at.x());
    QStringList words{timeText(time)};
    for (const MemoryRun& run : runs_) {
        const auto own = std::int64_t(std::floor(time)) + run.zero();
        if (own < run.history->allocated.time(0) || own > run.history->length)
            continue;
        QString bytes = tr("%1 %2").arg(run.countWord(), byteText(double(run.history->allocated.at(own))));
        if (run.hasReserved())
            bytes += tr(", reserved %1").arg(byteText(double(run.history->reserved.at(own))));
        words << titled(run, bytes);
    }
    return words.join(QStringLiteral("   "));
}

QString MemoryAreas::tip(QPointF at) const
{
    const MemoryRun& run = runs_.front();
    const std::int64_t time = std::int64_t(std::floor(timeAt(at.x()))) + run.zero();
    if (!groups_ || time < run.history->allocated.time(0) || time > run.history->length)
        return {};
    std::int64_t sum = 0;
    for (std::size_t group = 0; group < groups_->names.size(); ++group) {
        const std::int64_t bytes = groups_->at(group, time);
        sum += bytes;
        if (bytes > 0 && yOf(double(sum), plot()) <= at.y())
            return QStringLiteral("%1 %2, %3")
                .arg(QString::fromStdString(groups_->names[group]), byteText(double(bytes)),
                     percentText(double(bytes) /
                                 double(std::max<std::int64_t>(1, run.history->allocated.at(time)))));
    }
    return {};
}

TableData MemoryAreas::table() const
{
    TableData values;
    if (runs_.empty())
        return values;
    const MemoryRun& run = runs_.front();
    const query::MemoryGroups whole = groups_ ? query::MemoryGroups{} : outlineGroups(run);
    const query::MemoryGroups& groups = groups_ ? *groups_ : whole;
    const Columns columns = columnsOf(run, groups, plot().width());
    using Kind = TableColumn::Kind;
    values.columns = {makeColumn(tr("Time, ns"), Kind::Number, 100),
                      makeColumn(tr("%1, B").arg(run.countWord()), Kind::Number, 100)};
    if (run.hasReserved())
        values.columns.push_back(makeColumn(tr("reserved, B"), Kind::Number, 100));
    for (const std::string& name : groups.names)
        values.columns.push_back(
            makeColumn(QString::fromStdString(name) + QStringLiteral(", B"), Kind::Number, 100));
    const auto number = [](std::int64_t value) { return makeWords(QString::number(value)); };
    for (std::size_t i = 0; i < columns.stacks.size(); ++i) {
        const query::MemoryStack& stack = columns.stacks[i];
        TableRow& row = values.rows.emplace_back();
        row.id = std::int64_t(i);
        row.cells = {number(stack.time - run.zero()), number(stack.allocated)};
        if (run.hasReserved())
            row.cells.push_back(number(stack.reserved));
        for (std::size_t group = 0; group < columns.groups; ++group)
            row.cells.push_back(number(columns.bytes[i * columns.groups + group]));
    }
    return values;
}

} // namespace tilescope::ui
