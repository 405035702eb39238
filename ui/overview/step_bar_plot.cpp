#include "ui/overview/step_bar_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/hatch.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_delegate.h"
#include "ui/kit/time_axis.h"
#include "ui/kit/tone.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <set>

namespace tilescope::ui {

namespace {

constexpr int kBar = 26;
constexpr int kGap = 14;
constexpr int kFewBars = 4; // more are lower
constexpr int kLowBar = 19;
constexpr int kLowGap = 6;
constexpr int kLegendKey = 30;        // beside the words of a key
constexpr double kLeastShown = 0.001; // of the longest bar: less is no pixel

int barHeight(std::size_t bars)
{
    return sizes().of(int(bars) > kFewBars ? kLowBar : kBar);
}

int gapBelow(std::size_t bars)
{
    return sizes().of(int(bars) > kFewBars ? kLowGap : kGap);
}

void fillPart(QPainter& painter, const QRectF& box, query::Hue hue)
{
    const Palette& p = colours();
    if (hue != query::Hue::GapUnexplained)
        return painter.fillRect(box, p.hue(hue));
    fillHatched(painter, box, p.strongLine, p.surface);
    painter.setPen(p.strongLine);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

} // namespace

struct StepBarPlot::Frame {
    double left = 0, right = 0; ///< of the axis, pixels
    double longest = 1;         ///< ns
    int top = 0;                ///< of the first bar
    int height = 0, gap = 0;    ///< of each bar, and below it

    double x(double time) const { return left + (right - left) * time / longest; }
    QRectF bar(std::size_t i) const
    {
        return {left, double(top) + double(i) * (height + gap), right - left, double(height)};
    }
    double axis(std::size_t bars) const { return bar(bars).top() - gap + sizes().of(8); }
    double legend(std::size_t bars) const { return axis(bars) + sizes().of(26); }
};

StepBarPlot::StepBarPlot(QWidget* parent) : QWidget(parent)
{
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(tr("Where the step goes"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StepBarPlot::show(std::vector<StepBar> bars, std::optional<analysis::Verdict> verdict,
                       const QString& otherwise)
{
    verdict_ = verdict;
    bars_ = std::move(bars);
    otherwise_ = otherwise;
    setAccessibleDescription(bars_.empty() ? otherwise : spokenRows(table()));
    updateGeometry();
    update();
}

QSize StepBarPlot::sizeHint() const
{
    return {sizes().of(640), heightForWidth(width())};
}

int StepBarPlot::heightForWidth(int width) const
{
    const Frame frame = frameOf({width, 0});
    const std::vector<QPointF> keys = legendPlaces(width - frame.left);
    const double lastKeys = keys.empty() ? 0 : keys.back().y();
    return int(std::ceil(frame.legend(std::max<std::size_t>(1, bars_.size())) + lastKeys)) +
           QFontMetrics(Theme::instance().small()).height() + sizes().of(6);
}

void StepBarPlot::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    // Layouts ask for the height before they know the width that they give, and keep what they were told.
    const int needed = heightForWidth(width());
    if (event->size().width() != event->oldSize().width() &&
        (needed != height() || needed != heightForWidth(event->oldSize().width())))
        updateGeometry();
}

StepBarPlot::Frame StepBarPlot::frameOf(const QSize& size) const
{
    Frame frame;
    const QFontMetrics metrics(Theme::instance().bold());
    int label = sizes().of(40);
    for (const StepBar& bar : bars_) {
        label = std::max(label, metrics.horizontalAdvance(bar.letter + QLatin1Char(' ') + bar.title));
        frame.longest = std::max(frame.longest, bar.total());
    }
    frame.left = sizes().padding + std::min(label, size.width() / 4) + sizes().of(14);
    frame.right = size.width() - sizes().of(28);
    frame.top = sizes().of(12);
    frame.height = barHeight(bars_.size());
    frame.gap = gapBelow(bars_.size());
    return frame;
}

// Beside the bars; of many ranks or runs, titles that are cut still differ.
QStringList StepBarPlot::titles(const Frame& frame) const
{
    QStringList whole;
    for (const StepBar& bar : bars_)
        whole << (bar.letter.isEmpty() ? bar.title : bar.letter + QLatin1Char(' ') + bar.title);
    return distinctTexts(whole, QFontMetrics(Theme::instance().bold()), Qt::ElideRight,
                         int(frame.left) - sizes().padding - sizes().of(8));
}

void StepBarPlot::drawBar(QPainter& painter, const Frame& frame, std::size_t i, const QString& title) const
{
    const Palette& p = colours();
    const StepBar& bar = bars_[i];
    const QRectF rect = frame.bar(i);
    const QFontMetrics metrics(Theme::instance().small());
    painter.setFont(Theme::instance().bold());
    painter.setPen(p.text);
    const QRectF label(sizes().padding, rect.top(), frame.left - sizes().padding - sizes().of(8),
                       rect.height());
    painter.drawText(label, Qt::AlignVCenter | Qt::AlignLeft, title);
    painter.setFont(Theme::instance().small());
    double time = 0;
    for (const StepPart& part : bar.parts) {
        const QRectF box(frame.x(time), rect.top(), frame.x(time + part.time) - frame.x(time), rect.height());
        time += part.time;
        // A hairline separates the parts in grey.
        fillPart(painter, box.width() > 3 ? box.adjusted(0, 0, -1, 0) : box, part.hue);
        const double room = box.width() - sizes().of(10);
        const QString amount = timeText(part.time);
        const QString full = part.label + QLatin1Char(' ') + amount;
        const QString text = metrics.horizontalAdvance(full) <= room     ? full
                             : metrics.horizontalAdvance(amount) <= room ? amount
                                                                         : QString();
        if (text.isEmpty())
            continue;
        if (part.hue == query::Hue::GapUnexplained)
            painter.fillRect(QRectF(box.left() + sizes().of(3), box.top() + 4,
                                    metrics.horizontalAdvance(text) + 6, box.height() - 8),
                             p.surface);
        painter.setPen(part.hue.isGap() || part.hue.isWait() ? p.text : textOn(p.hue(part.hue)));
        painter.drawText(box.adjusted(sizes().of(6), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
    }
}

void StepBarPlot::drawAxis(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    const double y = frame.axis(bars_.size());
    painter.setPen(p.strongLine);
    painter.drawLine(QPointF(frame.left, y), QPointF(frame.right, y));
    const Unit unit = timeUnit(frame.longest);
    const double step = roundStep(frame.longest / unit.divisor / 11);
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (double tick = 0; tick <= frame.longest / unit.divisor * 1.0001; tick += step) {
        const double x = frame.x(tick * unit.divisor);
        painter.setPen(p.strongLine);
        painter.drawLine(QPointF(x, y), QPointF(x, y + 4));
        QString text = tickText(tick);
        const bool last = tick + step > frame.longest / unit.divisor * 1.0001;
        if (last)
            text = withUnit(text, unit.suffix);
        painter.setPen(p.dimText);
        painter.drawText(QRectF(x - 60, y + 5, 120, metrics.height()), Qt::AlignHCenter | Qt::AlignTop, text);
    }
}

Tone StepBarPlot::savingTone() const
{
    return bars_.size() == 2 && verdict_ ? toneOf(bars_[1].total() - bars_[0].total(), *verdict_) : Tone::Dim;
}

// The difference of two bars: an arrow from the longer one's end to the shorter one's.
void StepBarPlot::drawSaving(QPainter& painter, const Frame& frame) const
{
    if (bars_.size() != 2 || !verdict_)
        return;
    const double a = bars_[0].total();
    const double b = bars_[1].total();
    const double from = frame.x(a);
    const double to = frame.x(b);
    if (std::abs(from - to) < sizes().of(24))
        return;
    const Palette& p = colours();
    const bool less = b < a;
    const QColor colour = tonedBy(savingTone(), p).colour;
    const QRectF bar = frame.bar(less ? 1 : 0);
    const double y = bar.center().y();
    painter.setPen(QPen(p.text, 1, Qt::DotLine));
    const double edge = std::max(from, to);
    painter.drawLine(QPointF(edge, frame.bar(0).bottom()), QPointF(edge, frame.bar(1).bottom()));
    painter.setPen(QPen(p.text, 1));
    const double tail = std::min(from, to) + 3;
    painter.drawLine(QPointF(tail, y), QPointF(edge, y));
    const double head = less ? tail : edge;
    const double towards = less ? 5 : -5;
    painter.drawLine(QPointF(head, y), QPointF(head + towards, y - 4));
    painter.drawLine(QPointF(head, y), QPointF(head + towards, y + 4));
    // The card above compares timed steps.
    const QString amount = signedTimeText(b - a);
    painter.setFont(Theme::instance().bold());
    painter.setPen(colour);
    const QFontMetrics metrics(painter.font());
    for (const QString& text : {amount + QStringLiteral(" traced"), amount})
        if (metrics.horizontalAdvance(text) < edge - tail - 12)
            return painter.drawText(QRectF(tail, y - metrics.height() - 2, edge - tail, metrics.height()),
                                    Qt::AlignHCenter, text);
}

// The parts that the legend explains, those that can be seen: families first, then the reasons of idle time.
std::vector<const StepPart*> StepBarPlot::legendParts() const
{
    std::vector<const StepPart*> parts;
    std::set<query::Hue> seen;
    double longest = 0;
    for (const StepBar& bar : bars_)
        longest = std::max(longest, bar.total());
    for (const bool gaps : {false, true})
        for (const StepBar& bar : bars_)
            for (const StepPart& part : bar.parts)
                if ((part.hue.isGap() || part.hue.isWait()) == gaps && part.time >= kLeastShown * longest &&
                    seen.insert(part.hue).second)
                    parts.push_back(&part);
    return parts;
}

QStringList StepBarPlot::legend() const
{
    QStringList words;
    for (const StepPart* part : legendParts())
        words << part->label;
    return words;
}

// Where each key begins, from the left of the axis and the top of the legend; as many rows as the width needs.
std::vector<QPointF> StepBarPlot::legendPlaces(double width) const
{
    const QFontMetrics metrics(Theme::instance().small());
    std::vector<QPointF> places;
    QPointF next(0, 0);
    for (const StepPart* part : legendParts()) {
        const double needed = sizes().of(kLegendKey) + metrics.horizontalAdvance(part->label);
        if (next.x() > 0 && next.x() + needed > width)
            next = {0, next.y() + metrics.height() + sizes().of(4)};
        places.push_back(next);
        next.rx() += needed;
    }
    return places;
}

void StepBarPlot::drawLegend(QPainter& painter, const Frame& frame, int width) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    const QPointF start(frame.left, frame.legend(bars_.size()));
    const std::vector<const StepPart*> parts = legendParts();
    const std::vector<QPointF> places = legendPlaces(width - frame.left);
    const double side = sizes().of(9);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const QPointF at = start + places[i];
        fillPart(painter, QRectF(at.x(), at.y() + (metrics.height() - side) / 2, side, side), parts[i]->hue);
        painter.setPen(p.dimText);
        painter.drawText(QPointF(at.x() + side + sizes().of(5), at.y() + metrics.ascent()), parts[i]->label);
    }
}

void StepBarPlot::draw(QPainter& painter, const QSize& size) const
{
    if (bars_.empty()) {
        painter.setPen(colours().dimText);
        painter.setFont(Theme::instance().body());
        const int pad = sizes().padding;
        painter.drawText(QRect(QPoint(0, 0), size).adjusted(pad, 0, -pad, 0),
                         int(Qt::AlignCenter) | int(Qt::TextWordWrap), unbroken(otherwise_));
        return;
    }
    const Frame frame = frameOf(size);
    const QStringList names = titles(frame);
    for (std::size_t i = 0; i < bars_.size(); ++i)
        drawBar(painter, frame, i, names[qsizetype(i)]);
    drawSaving(painter, frame);
    drawAxis(painter, frame);
    drawLegend(painter, frame, size.width());
}

void StepBarPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
}

bool StepBarPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || bars_.empty())
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto at = partAt(help->pos())) {
        const StepPart& part = bars_[at->first].parts[at->second];
        QToolTip::showText(help->globalPos(), tr("%1: %2, %3 of the step")
                                                  .arg(part.label, timeText(part.time),
                                                       percentText(part.time / bars_[at->first].total())));
        return true;
    }
    QToolTip::hideText();
    return true;
}

std::optional<std::pair<std::size_t, std::size_t>> StepBarPlot::partAt(const QPoint& at) const
{
    if (bars_.empty())
        return {};
    const Frame frame = frameOf(size());
    for (std::size_t bar = 0; bar < bars_.size(); ++bar) {
        if (!frame.bar(bar).contains(at))
            continue;
        double time = 0;
        for (std::size_t part = 0; part < bars_[bar].parts.size(); ++part) {
            const double length = bars_[bar].parts[part].time;
            if (at.x() >= frame.x(time) && at.x() < frame.x(time + length))
                return std::pair(bar, part);
            time += length;
        }
    }
    return {};
}

void StepBarPlot::mouseReleaseEvent(QMouseEvent* event)
{
    const auto at = partAt(event->pos());
    if (at && event->button() == Qt::LeftButton)
        emit partChosen(bars_[at->first].parts[at->second]);
}

TableData StepBarPlot::table() const
{
    TableData values;
    values.columns = {makeColumn(tr("Run"), TableColumn::Kind::Text, 0),
                      makeColumn(tr("Part of the step"), TableColumn::Kind::Text, 140),
                      makeColumn(tr("Time, ns"), TableColumn::Kind::Number, 100)};
    for (const StepBar& bar : bars_)
        for (const StepPart& part : bar.parts) {
            TableRow& row = values.rows.emplace_back();
            row.id = std::int64_t(values.rows.size()) - 1;
            row.cells = {
                makeWords(bar.letter.isEmpty() ? bar.title : bar.letter + QLatin1Char(' ') + bar.title),
                makeWords(part.label), makeWords(QString::number(std::llround(part.time)))};
        }
    return values;
}

void StepBarPlot::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return table(); });
}

} // namespace tilescope::ui
