// The frame around a timeline's lanes: overview strip, ruler, run headers and the column of labels.

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_painter.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Hue;
using query::Lane;
using query::Track;

namespace {

constexpr int kLeastFont = 6;            // pixels
constexpr double kWorthTelling = 0.0005; // of a step: less is 0.0 %

// The rows that say best what a run is about from far away: the device's, else the host's.
std::vector<const Track*> overviewTracks(const query::Timeline& timeline)
{
    std::vector<const Track*> tracks;
    for (const Lane::Kind kind : {Lane::Kind::Stream, Lane::Kind::Thread, Lane::Kind::Ranges}) {
        for (const Lane& lane : timeline.lanes)
            if (lane.kind == kind)
                for (const Track& row : lane.rows)
                    tracks.push_back(&row);
        if (!tracks.empty())
            break;
    }
    return tracks;
}

// Draws text and moves x behind it.
void put(QPainter& painter, double& x, const QRect& area, const QFont& font, const QColor& colour,
         const QString& text)
{
    painter.setFont(font);
    painter.setPen(colour);
    const double width = QFontMetricsF(font).horizontalAdvance(text);
    painter.drawText(QRectF(x, area.top(), width + 1, area.height()), Qt::AlignVCenter | Qt::AlignLeft, text);
    x += width;
}

// How this run's step, or the range that runs are aligned at, differs from the first run's.
void putDifference(QPainter& painter, double& x, const QRect& area, const TimelineSection& first,
                   const TimelineSection& section)
{
    const double difference = double(section.alignedLength - first.alignedLength);
    if (first.alignedLength <= 0 || section.alignedLength <= 0 || difference == 0)
        return;
    const Palette& p = colours();
    const QColor colour = difference < 0 ? p.faster : p.warning;
    x += sizes().of(12);
    const double side = sizes().of(10);
    paintIcon(painter, difference < 0 ? Icon::Down : Icon::Up,
              QRectF(x, area.center().y() - side / 2, side, side), colour);
    x += side + sizes().of(4);
    const bool step = section.step && section.alignAt == double(section.step->start) &&
                      section.alignedLength == section.step->end - section.step->start;
    const double ratio = difference < 0 ? double(first.alignedLength) / double(section.alignedLength)
                                        : double(section.alignedLength) / double(first.alignedLength);
    QString text = signedTimeText(difference) + QStringLiteral(", ") + threeDigits(ratio) + QChar(0x00D7);
    text += step ? QStringLiteral(" traced") : QStringLiteral(" at ") + section.alignedAt;
    put(painter, x, area, Theme::instance().bold(), colour, text);
}

// What the second line of a lane's label says.
QString detailOf(const TimelineSection& section, const Lane& lane)
{
    if (lane.kind != Lane::Kind::Stream)
        return QString::fromStdString(lane.detail);
    if (!section.step)
        return counted(std::int64_t(lane.events()), "event");
    std::size_t count = 0;
    for (const Track& row : lane.rows) {
        const auto [first, last] = row.overlapping(section.step->start, section.step->end);
        count += last - first;
    }
    return QStringLiteral("%1 in step %2").arg(wholeNumber(std::int64_t(count))).arg(section.step->step);
}

} // namespace

// From far away: in every pixel column the box that covers most of it, whatever its row.
void TimelinePainter::fillOverview(BoxTarget& target, const TimelineScene& scene, const OverviewPlace& place,
                                   double ratio)
{
    const int columns = int(place.area.width() * ratio);
    target.fill(0, columns, 0, int(place.area.height() * ratio), colours().laneGround.rgb());
    for (std::size_t s = 0; s < scene.sections.size(); ++s) {
        const TimelineSection& section = scene.sections[s];
        const int top = int(int(s) * place.rowHeight * ratio);
        std::vector<query::Column> best(static_cast<std::size_t>(columns));
        for (const Track* track : overviewTracks(*section.timeline)) {
            columns_.resize(std::size_t(columns));
            track->columns(section.toTimeline(place.whole.from),
                           place.whole.length() / section.stretch / columns, columns_);
            for (std::size_t c = 0; c < best.size(); ++c)
                if (columns_[c].item != query::Column::kNothing && columns_[c].coverage >= best[c].coverage)
                    best[c] = columns_[c];
        }
        for (int c = 0; c < columns; ++c)
            if (const query::Column& column = best[std::size_t(c)]; column.item != query::Column::kNothing)
                target.fill(c, c + 1, top, top + int((place.rowHeight - 1) * ratio),
                            colours_->of(Lane::Kind::Stream, column.hue, 0,
                                         std::uint8_t(std::lround(column.coverage * BoxRun::kLevels))));
    }
}

// The strip shows the whole run whatever the window: its picture is kept until the runs or their places
// change.
void TimelinePainter::paintOverviewImage(QPainter& painter, const TimelineScene& scene,
                                         const OverviewPlace& place)
{
    const double ratio = painter.device()->devicePixelRatioF();
    std::vector<const query::Timeline*> shown;
    for (const TimelineSection& section : scene.sections)
        shown.push_back(section.timeline.get());
    const QSize size(int(place.area.width() * ratio), int(place.area.height() * ratio));
    if (overview_.size() != size || overviewOf_ != shown) {
        overviewOf_ = shown;
        overview_ = QImage(size, QImage::Format_RGB32);
        ImageTarget target(overview_);
        fillOverview(target, scene, place, ratio);
    }
    overview_.setDevicePixelRatio(ratio);
    painter.drawImage(place.area.topLeft(), overview_);
    overview_.setDevicePixelRatio(1);
}

void TimelinePainter::paintOverview(QPainter& painter, const TimelineScene& scene, const QRect& area,
                                    bool vector)
{
    const Palette& p = colours();
    painter.fillRect(area, p.surface);
    if (scene.sections.empty())
        return;
    const Theme& theme = Theme::instance();
    const int left = scene.sizes.label;
    const QFontMetrics metrics(theme.small());
    const TimeWindow whole = wholeWindow(scene.sections);
    const int plotWidth = std::max(1, area.width() - left - sizes().of(8));
    const int stepsTop = area.top();
    const int rowsTop = stepsTop + metrics.height();
    const int ticksTop = area.bottom() - metrics.height();
    const int rowHeight = std::max(3, (ticksTop - rowsTop - 2) / int(scene.sections.size()));
    const auto xOf = [&](double axis) { return left + (axis - whole.from) / whole.length() * plotWidth; };

    const OverviewPlace place{whole, QRect(left, rowsTop, plotWidth, ticksTop - rowsTop), rowHeight};
    if (vector) {
        painter.save();
        painter.translate(place.area.topLeft());
        PainterTarget target(painter);
        fillOverview(target, scene, place, 1);
        painter.restore();
    } else {
        paintOverviewImage(painter, scene, place);
    }

    painter.setFont(theme.bold());
    painter.setPen(p.text);
    painter.drawText(QRect(sizes().of(10), area.top() + sizes().of(4), left, metrics.height() + 4),
                     Qt::AlignLeft, QStringLiteral("Whole run"));
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    const int letterRight = left - sizes().of(8);
    if (rowHeight < metrics.ascent()) // rows too low for a letter each
        painter.drawText(QRect(0, rowsTop, letterRight, ticksTop - rowsTop),
                         Qt::AlignVCenter | Qt::AlignRight,
                         scene.sections.front().letter + QChar(0x2013) + scene.sections.back().letter);
    else
        for (std::size_t s = 0; s < scene.sections.size(); ++s)
            painter.drawText(QRect(0, rowsTop + int(s) * rowHeight, letterRight, rowHeight),
                             Qt::AlignVCenter | Qt::AlignRight, scene.sections[s].letter);
    for (const query::TimelineStep& step : scene.sections.front().timeline->steps) {
        const QString text = QStringLiteral("step %1").arg(step.step);
        const double centre = xOf(scene.sections.front().toAxis(double(step.start + step.end) / 2));
        if (scene.sections.front().timeline->steps.size() < 12)
            painter.drawText(QRectF(centre - 100, stepsTop, 200, metrics.height()), Qt::AlignCenter, text);
    }
    painter.setPen(p.dimText);
    const double offset = whole.from;
    for (const Tick& tick : timeTicks({0, whole.length()}, plotWidth, sizes().of(110)))
        painter.drawText(QRectF(xOf(tick.at + offset) - 100, ticksTop, 200, metrics.height()),
                         Qt::AlignCenter, tick.label);

    // What is outside the window recedes.
    const double from = std::clamp(xOf(scene.window.from), double(left), double(left + plotWidth));
    const double to = std::clamp(xOf(scene.window.to), double(left), double(left + plotWidth));
    QColor veil = p.surface;
    veil.setAlphaF(0.55);
    const double bottom = ticksTop;
    painter.fillRect(QRectF(left, rowsTop, from - left, bottom - rowsTop), veil);
    painter.fillRect(QRectF(to, rowsTop, left + plotWidth - to, bottom - rowsTop), veil);
    painter.setPen(QPen(p.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(from, rowsTop - 1, std::max(2.0, to - from), bottom - rowsTop + 1));
    const double grip = (bottom - rowsTop) / 3;
    painter.fillRect(QRectF(from - 1, rowsTop + grip, 3, grip), p.accent);
    painter.fillRect(QRectF(to - 2, rowsTop + grip, 3, grip), p.accent);
}

void TimelinePainter::paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    painter.fillRect(area, p.raised);
    painter.fillRect(QRect(area.left(), area.top(), area.width(), 1), p.line);
    painter.fillRect(QRect(area.left(), area.bottom(), area.width(), 1), p.line);
    if (scene.sections.empty())
        return;
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    const QString& start = scene.sections.front().alignedAt;
    const QString origin =
        QStringLiteral("from start of ") + (start.isEmpty() ? QStringLiteral("run") : start);
    const QRect place(area.left() + sizes().of(10), area.top(), scene.sizes.label - sizes().of(14),
                      area.height());
    painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(origin, Qt::ElideRight, place.width()));
    painter.save();
    painter.setClipRect(area.adjusted(scene.sizes.label, 0, 0, 0));
    for (const Tick& tick :
         timeTicks(scene.window, area.width() - scene.sizes.label, scene.sizes.label * 0.6)) {
        // At the edges a label moves inwards, so that it and its unit are whole.
        const double half = painter.fontMetrics().horizontalAdvance(tick.label) / 2.0 + 2;
        const double x =
            std::clamp(scene.xOf(tick.at, area.width()), scene.sizes.label + half, area.right() - half);
        painter.drawText(QRectF(x - 100, area.top(), 200, area.height()), Qt::AlignCenter, tick.label);
    }
    if (scene.span) {
        const double left = scene.xOf(scene.span->from, area.width());
        const double right = scene.xOf(scene.span->to, area.width());
        const QString text = QStringLiteral("Δ ") + timeText(scene.span->length());
        const double width = std::max(right - left, QFontMetricsF(theme.bold()).horizontalAdvance(text) + 12);
        const QRectF chip((left + right - width) / 2, area.top() + 2, width, area.height() - 4);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(p.accent);
        painter.setBrush(p.selectedRow);
        painter.drawRoundedRect(chip.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        painter.setFont(theme.bold());
        painter.setPen(p.text);
        painter.drawText(chip, Qt::AlignCenter, text);
    }
    painter.restore();
}

void TimelinePainter::paintHeader(QPainter& painter, const TimelineScene& scene, const Band& band,
                                  const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& section = scene.sections[band.section];
    painter.fillRect(area, p.raised);
    painter.fillRect(QRect(area.left(), area.bottom(), area.width(), 1), p.line);
    double x = sizes().of(10);
    if (!section.letter.isEmpty()) {
        put(painter, x, area, theme.bold(), p.text, section.letter);
        x += sizes().of(8);
    }
    put(painter, x, area, theme.bold(), p.text, section.title);
    x = std::max<double>(x + sizes().of(12), scene.sizes.label + sizes().of(4));
    if (section.step) {
        const query::TimelineStep& step = *section.step;
        put(painter, x, area, theme.body(), p.dimText, QStringLiteral("step %1 ").arg(step.step));
        put(painter, x, area, theme.bold(), p.text,
            QStringLiteral(" ") + timeText(double(step.end - step.start)));
        if (band.section > 0)
            putDifference(painter, x, area, scene.sections.front(), section);
        for (const Lane& lane : section.timeline->lanes) {
            if (lane.kind != Lane::Kind::Busy)
                continue;
            const auto covered = lane.rows.front().coveredByHue(step.start, step.end);
            const double total = double(std::max<std::int64_t>(1, step.end - step.start));
            for (const Hue hue : {Hue::Busy, Hue::GapLaunching, Hue::GapSynchronising, Hue::GapTracing,
                                  Hue::GapUnexplained}) {
                const double share = double(covered[std::size_t(hue)]) / total;
                if (share < kWorthTelling)
                    continue;
                x += sizes().of(14);
                const double side = sizes().of(9);
                const QRectF swatch(x, area.center().y() - side / 2, side, side);
                if (hue == Hue::GapUnexplained) {
                    painter.fillRect(swatch, QBrush(p.hue(hue), Qt::BDiagPattern));
                    painter.setPen(p.strongLine);
                    painter.drawRect(swatch.adjusted(0, 0, -1, -1));
                } else {
                    painter.fillRect(swatch, p.hue(hue));
                }
                x += side + sizes().of(6);
                const std::string_view word = hueWord(hue);
                put(painter, x, area, theme.body(), p.dimText,
                    QString::fromUtf8(word.data(), qsizetype(word.size())) + QLatin1Char(' '));
                put(painter, x, area, theme.body(), p.text, percentText(share));
            }
            break;
        }
    }
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    const double width = QFontMetricsF(theme.small()).horizontalAdvance(section.source);
    if (x + width + sizes().of(24) < area.right())
        painter.drawText(area.adjusted(0, 0, -sizes().of(10), 0), Qt::AlignVCenter | Qt::AlignRight,
                         section.source);
}

void TimelinePainter::paintLabelColumn(QPainter& painter, const TimelineScene& scene, const Band& band,
                                       const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& section = scene.sections[band.section];
    const LaneView& view = section.lanes[band.view];
    const Lane& lane = section.timeline->lanes[view.lane];
    const QRect column(0, area.top(), scene.sizes.label, area.height());
    painter.save();
    painter.setClipRect(column, Qt::IntersectClip);
    if (scene.currentLane && *scene.currentLane == LanePlace{band.section, band.view}) {
        painter.fillRect(column, p.selectedRow);
        painter.fillRect(QRect(column.left(), column.top(), sizes().of(3), column.height()), p.accent);
    }
    // In a lane lower than a line of text, what fits of its first.
    QFont font = theme.body();
    const bool isLow = column.height() < QFontMetrics(font).height();
    if (isLow) // one size for lanes that differ by a pixel
        font.setPixelSize(std::clamp((column.height() - 1) & ~1, kLeastFont, QFontInfo(font).pixelSize()));
    const int line = isLow ? column.height() : QFontMetrics(font).height();
    const int chevron = std::min(sizes().of(12), column.height());
    const int lineTop = column.top() + (std::min(column.height(), sizes().of(20)) - line) / 2;
    paintIcon(painter, view.folded ? Icon::ChevronRight : Icon::ChevronDown,
              QRectF(sizes().of(10), lineTop + (line - chevron) / 2.0, chevron, chevron), p.dimText);
    const int textLeft = sizes().of(28);
    painter.setFont(font);
    painter.setPen(p.text);
    painter.drawText(QRect(textLeft, lineTop, column.width() - textLeft - 4, line),
                     Qt::AlignVCenter | Qt::AlignLeft, QString::fromStdString(lane.title));
    if (!isLow)
        painter.setFont(theme.small());
    painter.setPen(p.dimText);
    const int second = lineTop - column.top() + line - 1 + painter.fontMetrics().ascent() + 3;
    if (!view.folded && !lane.detail.empty() && column.height() >= second)
        painter.drawText(QRect(textLeft, lineTop + line - 1, column.width() - textLeft - 4, line),
                         Qt::AlignVCenter | Qt::AlignLeft, detailOf(section, lane));
    const QRect right = column.adjusted(0, 0, -sizes().of(10), 0);
    if (lane.kind == Lane::Kind::Busy && section.step) {
        const auto covered = lane.rows.front().coveredByHue(section.step->start, section.step->end);
        const double total = double(std::max<std::int64_t>(1, section.step->end - section.step->start));
        painter.drawText(right, Qt::AlignVCenter | Qt::AlignRight,
                         percentText(double(covered[std::size_t(Hue::Busy)]) / total));
    } else if (lane.kind == Lane::Kind::Memory && !lane.allocated.empty()) {
        const Unit unit = byteUnit(memory_.to);
        const QString most = columnDigits(memory_.to, unit);
        const bool both = !view.folded && column.height() > 2 * painter.fontMetrics().ascent();
        painter.drawText(right, Qt::AlignTop | Qt::AlignRight, both ? most : withUnit(most, unit.word));
        if (both)
            painter.drawText(right, Qt::AlignBottom | Qt::AlignRight,
                             withUnit(QStringLiteral("0"), unit.word));
    }
    painter.restore();
}

void TimelinePainter::paintMemoryMarks(QPainter& painter, const TimelineScene& scene, const Band& band,
                                       const QRect& area)
{
    const TimelineSection& section = scene.sections[band.section];
    const Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
    if (lane.kind != Lane::Kind::Memory || lane.allocated.empty() || section.lanes[band.view].folded)
        return;
    const Palette& p = colours();
    const std::size_t peak = lane.allocated.peak();
    const double x = scene.xOf(section.toAxis(double(lane.allocated.time(peak))), area.width());
    if (x < scene.sizes.label || x > area.width())
        return;
    const double bytes = double(lane.allocated.value(peak));
    const double y = memory_.yOf(bytes, area.top(), area.top() + area.height());
    const double radius = sizes().of(3);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(p.text, 1.5));
    painter.setBrush(p.surface);
    painter.drawEllipse(QPointF(x, y), radius, radius);
    if (area.height() < QFontMetrics(Theme::instance().small()).ascent())
        return painter.restore();
    const QString text = QStringLiteral("peak allocated ") + byteText(bytes);
    painter.setFont(Theme::instance().small());
    const QFontMetricsF font(painter.font());
    const double width = font.horizontalAdvance(text);
    const bool leftFits = x - width - 10 > scene.sizes.label;
    // In its usual height the words need the upper half of the lane.
    const QRectF box(leftFits ? x - width - 8 : x + 8, area.top() - 1, width + 1,
                     std::min(area.height() / 2.0, font.height()));
    QColor ground = p.laneGround; // the curve does not cross the words out
    ground.setAlphaF(0.78F);
    painter.fillRect(box.adjusted(-2, 1, 2, 0), ground);
    painter.setPen(p.text);
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft, text);
    painter.restore();
}

} // namespace tilescope::ui
