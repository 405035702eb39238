#include "ui/timeline/timeline_frame.h"

#include "core/query/kernels/kernel_stats.h"
#include "ui/kit/count_text.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/hatch.h"
#include "ui/kit/number_text.h"
#include "ui/kit/text_cache.h"
#include "ui/kit/tone.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_curve.h"
#include "ui/timeline/timeline_play.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Hue;
using query::Lane;
using query::Track;

namespace {

constexpr int kLeastFont = 6;          // pixels
constexpr double kLeastShare = 0.0005; // of a step: less is displayed as 0.0 %

// Draws text and moves x to its end. A text that does not fit completely is left out, with all following
// texts.
void put(QPainter& painter, double& x, const QRect& area, const QFont& font, const QColor& colour,
         const QString& text)
{
    painter.setFont(font);
    painter.setPen(colour);
    const double width = QFontMetricsF(font).horizontalAdvance(text);
    if (x + width > area.right()) {
        x = area.right() + 1;
        return;
    }
    painter.drawText(QRectF(x, area.top(), width + 1, area.height()), Qt::AlignVCenter | Qt::AlignLeft, text);
    x += width;
}

void putDifference(QPainter& painter, double& x, const QRect& area, const TimelineSection& first,
                   const TimelineSection& section)
{
    const std::optional<DifferenceWords> words = differenceWords(first, section);
    if (!words)
        return;
    const auto& [toned, text] = *words;
    x += sizes().of(12);
    if (toned.sign && x + sizes().of(14) + QFontMetricsF(Theme::instance().bold()).horizontalAdvance(text) <=
                          area.right()) {
        const double side = sizes().of(10);
        paintIcon(painter, *toned.sign, QRectF(x, area.center().y() - side / 2, side, side), toned.colour);
        x += side + sizes().of(4);
    }
    put(painter, x, area, Theme::instance().bold(), toned.colour, text);
}

// The second line of a lane's label.
QString detailOf(const TimelineSection& section, const Lane& lane)
{
    if (lane.kind != Lane::Kind::Stream)
        return QString::fromStdString(lane.detail);
    const std::optional<query::TimelineStep> step = section.stepOf(lane);
    if (!step)
        return counted(std::int64_t(lane.events()), "event");
    std::size_t count = 0;
    for (const Track& row : lane.rows) {
        const auto [first, last] = row.overlapping(step->start, step->end);
        count += last - first;
    }
    return QStringLiteral("%1 in step %2").arg(wholeNumber(std::int64_t(count))).arg(step->step);
}

// The shares of the step during which the process's devices are busy, and idle by reason. The lanes stand in for
// the partition while the run is being written.
std::vector<std::pair<Hue, double>> sharesOf(const TimelineSection& section)
{
    const query::TimelineStep& step = *section.step;
    if (const analysis::StepPartition* parts = section.partition()) {
        const double wall = double(std::max<std::int64_t>(1, step.end - step.start));
        return {{Hue::Busy, double(parts->gpuBusy.count()) / wall},
                {Hue::GapLaunching, double(parts->launching.count()) / wall},
                {Hue::GapSynchronizing, double(parts->synchronizing.count()) / wall},
                {Hue::GapTracing, double(parts->tracing.count()) / wall},
                {Hue::GapUnexplained, double(parts->unexplained.count()) / wall}};
    }
    const std::optional<query::BusyShare> devices =
        query::busyShare(*section.timeline, {step.start, step.end}, step.process);
    std::vector<std::pair<Hue, double>> shares;
    if (devices)
        for (const Hue hue :
             {Hue::Busy, Hue::GapLaunching, Hue::GapSynchronizing, Hue::GapTracing, Hue::GapUnexplained})
            shares.emplace_back(hue, devices->of(hue));
    return shares;
}

// The share of the step in which the lane's device was busy; empty for other lanes.
QString busyText(const TimelineSection& section, const Lane& lane)
{
    const std::optional<query::TimelineStep> step =
        lane.kind == Lane::Kind::Busy ? section.stepOf(lane) : std::nullopt;
    if (!step)
        return {};
    const auto covered = lane.rows.front().coveredByHue(step->start, step->end);
    const double total = double(std::max<std::int64_t>(1, step->end - step->start));
    return percentText(double(covered[std::size_t(Hue::Busy)]) / total);
}

// The words at the ends of a curve's scale: 2.18 and 0 GHz.
struct ScaleWords {
    QString most, mostWithUnit, zero;
};

ScaleWords scaleWordsOf(const Lane& lane, const MemoryRange& range)
{
    if (lane.kind == Lane::Kind::Memory) {
        const Unit unit = byteUnit(range.to);
        const QString most = columnDigits(range.to, unit);
        return {most, withUnit(most, unit.suffix), withUnit(QStringLiteral("0"), unit.suffix)};
    }
    const QString most = curveText(lane, range.to);
    const auto unit = std::ranges::find_if(most, [](QChar c) { return c.isSpace(); });
    const qsizetype digits = unit - most.begin();
    return {most.left(digits), most, QStringLiteral("0") + most.mid(digits)};
}

// The shares of the step in which the process's devices are busy, and idle by reason.
void putIdleShares(QPainter& painter, double& x, const QRect& area, const TimelineSection& section)
{
    const Palette& p = colours();
    const double side = sizes().of(9);
    for (const auto& [hue, share] : sharesOf(section)) {
        if (share < kLeastShare)
            continue;
        x += sizes().of(14);
        const std::string_view hueName = hueWord(hue);
        const QString word = QString::fromUtf8(hueName) + QLatin1Char(' ');
        const QFontMetricsF metrics(Theme::instance().body());
        if (x + side + sizes().of(6) + metrics.horizontalAdvance(word + percentText(share)) > area.right())
            return;
        const QRectF swatch(x, area.center().y() - side / 2, side, side);
        if (hue == Hue::GapUnexplained) {
            fillHatched(painter, swatch, p.hue(hue), p.surface);
            painter.setPen(p.strongLine);
            painter.drawRect(swatch.adjusted(0, 0, -1, -1));
        } else {
            painter.fillRect(swatch, p.hue(hue));
        }
        x += side + sizes().of(6);
        put(painter, x, area, Theme::instance().body(), p.dimText, word);
        put(painter, x, area, Theme::instance().body(), p.text, percentText(share));
    }
}

// The title of a run, which begins with its letter.
void putTitle(QPainter& painter, const TimelineSection& section, const QRect& area)
{
    const Palette& p = colours();
    const QFont bold = Theme::instance().bold();
    double x = sizes().of(10);
    if (!section.letter.isEmpty()) {
        put(painter, x, area, bold, p.text, section.letter);
        x += sizes().of(8);
    }
    put(painter, x, area, bold, p.text,
        elidedText(section.title, QFontMetrics(bold), Qt::ElideRight,
                   int(area.right() - x - sizes().of(12))));
}

// Behind the words of the header, if it has room.
void putSource(QPainter& painter, double x, const QRect& area, const QString& source)
{
    const QFont small = Theme::instance().small();
    painter.setFont(small);
    painter.setPen(colours().dimText);
    if (x + QFontMetricsF(small).horizontalAdvance(source) + sizes().of(24) < area.right())
        painter.drawText(area.adjusted(0, 0, -sizes().of(10), 0), Qt::AlignVCenter | Qt::AlignRight, source);
}

} // namespace

std::optional<DifferenceWords> differenceWords(const TimelineSection& first, const TimelineSection& section)
{
    const double difference = double(section.alignedLength - first.alignedLength);
    if (first.alignedLength <= 0 || section.alignedLength <= 0 || difference == 0)
        return {};
    const bool step = section.step && section.alignAt == double(section.step->start) &&
                      section.alignedLength == section.step->end - section.step->start;
    const double ratio = difference < 0 ? double(first.alignedLength) / double(section.alignedLength)
                                        : double(section.alignedLength) / double(first.alignedLength);
    QString text = signedTimeText(difference) + QStringLiteral(", ") + threeDigits(ratio) + QChar(0x00D7);
    text += step ? QStringLiteral(" traced") : QStringLiteral(" at ") + section.alignedAt;
    return DifferenceWords{tonedBy(toneOf(difference, section.verdict), colours()), text};
}

void paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area)
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
                     elidedText(origin, painter.fontMetrics(), Qt::ElideRight, place.width()));
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

double headerWordsAt(const TimelineScene& scene, const TimelineSection& section, const QRect& area)
{
    const QFontMetrics bold(Theme::instance().bold());
    double title = sizes().of(10);
    if (!section.letter.isEmpty())
        title += QFontMetricsF(Theme::instance().bold()).horizontalAdvance(section.letter) + sizes().of(8);
    const int room = int(area.right() - title - sizes().of(12));
    title += bold.horizontalAdvance(elidedText(section.title, bold, Qt::ElideRight, room));
    return std::max<double>(title + sizes().of(12), scene.sizes.label + sizes().of(4));
}

void paintRunHeader(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& section = scene.sections[band.section];
    painter.fillRect(area, p.raised);
    painter.fillRect(QRect(area.left(), area.bottom(), area.width(), 1), p.line);
    putTitle(painter, section, area);
    double x = headerWordsAt(scene, section, area);
    if (scene.play) {
        paintPlayWords(painter, scene, band.section, x, area);
        return;
    }
    if (section.step) {
        const query::TimelineStep& step = *section.step;
        put(painter, x, area, theme.body(), p.dimText,
            QString::fromStdString(section.timeline->titleOf(step)) + QLatin1Char(' '));
        put(painter, x, area, theme.bold(), p.text,
            QStringLiteral(" ") + timeText(double(step.end - step.start)));
        if (band.section > 0)
            putDifference(painter, x, area, scene.sections.front(), section);
        putIdleShares(painter, x, area, section);
    }
    putSource(painter, x, area, section.source);
}

void paintCountersTitle(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area,
                        TextCache& texts)
{
    const Palette& p = colours();
    const TimelineSection& section = scene.sections[band.section];
    const int chevron = std::min(sizes().of(12), area.height());
    paintIcon(painter, showsCounterGroup(section) ? Icon::ChevronDown : Icon::ChevronRight,
              QRectF(sizes().of(10), area.top() + (area.height() - chevron) / 2.0, chevron, chevron),
              p.dimText);
    const QFont small = Theme::instance().small();
    if (area.height() < QFontMetrics(small).ascent())
        return;
    const QFont body = Theme::instance().body();
    painter.setFont(area.height() < QFontMetrics(body).height() ? small : body);
    painter.setPen(p.dimText);
    const int left = sizes().of(28);
    texts.draw(painter, QRect(left, area.top(), scene.sizes.label - left, area.height()),
               Qt::AlignVCenter | Qt::AlignLeft,
               counted(std::int64_t(counterGroup(section).size()), "counter"));
}

void paintLaneLabel(QPainter& painter, const TimelineScene& scene, const Band& band, const MemoryRange& range,
                    const QRect& area, TextCache& texts)
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
        painter.fillRect(column.adjusted(0, 0, -1, 0), p.selectedRow);
        painter.fillRect(QRect(column.left(), column.top(), sizes().of(3), column.height()), p.accent);
    }
    // In a lane lower than a line of text, draws the visible part of the first line.
    QFont font = theme.body();
    const bool isLow = column.height() < QFontMetrics(font).height();
    if (isLow) // one size for lanes that differ by a pixel
        font = texts.sized(font,
                           std::clamp((column.height() - 1) & ~1, kLeastFont, QFontInfo(font).pixelSize()));
    const int line = isLow ? column.height() : QFontMetrics(font).height();
    const int chevron = std::min(sizes().of(12), column.height());
    const int lineTop = column.top() + (std::min(column.height(), sizes().of(20)) - line) / 2;
    paintIcon(painter, view.folded ? Icon::ChevronRight : Icon::ChevronDown,
              QRectF(sizes().of(10), lineTop + (line - chevron) / 2.0, chevron, chevron), p.dimText);
    const int textLeft = sizes().of(28);
    const ScaleWords scale = scaleWordsOf(lane, range);
    const bool hasCurve = curveOf(lane) != nullptr;
    const bool hasScale =
        hasCurve && !view.folded && column.height() > 2 * QFontMetrics(theme.small()).ascent();
    QString name = QString::fromStdString(lane.title);
    if (band.isPinned && !section.letter.isEmpty())
        name.prepend(section.letter + QLatin1Char(' ')); // its run's header is elsewhere
    QString figure = hasScale ? scale.most : hasCurve ? scale.mostWithUnit : busyText(section, lane);
    const auto figureWidth = [&figure, &theme] {
        return figure.isEmpty() ? 0 : QFontMetrics(theme.small()).horizontalAdvance(figure) + sizes().of(12);
    };
    const int room = column.width() - textLeft - 4;
    // The card at the cursor has the value, so that a folded curve's name goes before its scale.
    if (hasCurve && !hasScale && QFontMetrics(font).horizontalAdvance(name) > room - figureWidth())
        figure.clear();
    // The end of a name distinguishes the lanes of a process.
    const auto drawName = [&](int top, const QString& text, int width) {
        texts.draw(painter, QRect(textLeft, top, width, line), Qt::AlignVCenter | Qt::AlignLeft, text);
    };
    painter.setFont(font);
    painter.setPen(p.text);
    drawName(lineTop, name, room - figureWidth());
    if (!isLow)
        painter.setFont(theme.small());
    painter.setPen(p.dimText);
    const int second = lineTop - column.top() + line - 1 + painter.fontMetrics().ascent() + 3;
    if (!view.folded && !lane.detail.empty() && column.height() >= second)
        drawName(lineTop + line - 1, detailOf(section, lane),
                 hasScale ? room - painter.fontMetrics().horizontalAdvance(scale.zero) - sizes().of(12)
                          : room);
    const QRect right = column.adjusted(0, 0, -sizes().of(10), 0);
    texts.draw(painter, right, (hasCurve ? Qt::AlignTop : Qt::AlignVCenter) | Qt::AlignRight, figure);
    if (hasScale)
        texts.draw(painter, right, Qt::AlignBottom | Qt::AlignRight, scale.zero);
    painter.restore();
}

void paintMemoryPeak(QPainter& painter, const TimelineScene& scene, const Band& band,
                     const MemoryRange& memory, const QRect& area)
{
    const TimelineSection& section = scene.sections[band.section];
    const Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
    if (lane.kind != Lane::Kind::Memory || lane.allocated.empty() || section.lanes[band.view].folded)
        return;
    const Palette& p = colours();
    const std::size_t peak = lane.allocated.peak();
    const double x = scene.xOf(section.toAxis(double(lane.allocated.time(peak))), area.width());
    if (x < scene.sizes.label || x > area.width() || x > scene.xOf(scene.drawnTo(band.section), area.width()))
        return;
    const double bytes = double(lane.allocated.value(peak));
    const double y = memory.yOf(bytes, area.top(), area.top() + area.height());
    const double radius = sizes().of(3);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(p.text, 1.5));
    painter.setBrush(p.surface);
    painter.drawEllipse(QPointF(x, y), radius, radius);
    if (area.height() < QFontMetrics(Theme::instance().small()).ascent())
        return painter.restore();
    const QString text = QStringLiteral("peak ") + byteText(bytes);
    painter.setFont(Theme::instance().small());
    const QFontMetricsF font(painter.font());
    const double width = font.horizontalAdvance(text);
    const bool leftFits = x - width - 10 > scene.sizes.label;
    // Beside the ring and within the lane, which may be as low as the letters.
    const double height = std::min(double(area.height()), font.height());
    const double top = std::clamp(y - height / 2, double(area.top()), area.top() + area.height() - height);
    const QRectF box(leftFits ? x - width - 8 : x + 8, top, width + 1, height);
    QColor ground = p.laneGround; // the curve does not cross the words out
    ground.setAlphaF(0.78F);
    painter.fillRect(box.adjusted(-2, 1, 2, 0), ground);
    painter.setPen(p.text);
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft, text);
    painter.restore();
}

} // namespace tilescope::ui
