#include "ui/timeline/timeline_painter.h"

#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/difference_band.h"
#include "ui/timeline/lane_curve.h"
#include "ui/timeline/timeline_frame.h"
#include "ui/timeline/timeline_marks.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QRegion>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

bool isNumber(const QString& text)
{
    return !text.isEmpty() && std::all_of(text.begin(), text.end(), [](QChar c) { return c.isDigit(); });
}

// A text and its width.
std::pair<QStaticText, double> prepared(const QString& words)
{
    const QFont font = Theme::instance().small();
    QStaticText text(words);
    text.setTextFormat(Qt::PlainText);
    text.prepare(QTransform(), font);
    return {text, QFontMetricsF(font).horizontalAdvance(words)};
}

bool isStep(const query::Timeline& timeline, const Track& row, std::size_t box)
{
    return timeline.names[row.name(box)].label == "step";
}

// The row of a lane whose first box from a time on is a step: other ranges may contain the steps.
const Track* rowOfSteps(const query::Timeline& timeline, const Lane& lane, double from)
{
    for (const Track& row : lane.rows)
        if (const std::size_t box = row.firstFrom(std::int64_t(from));
            box < row.size() && isStep(timeline, row, box))
            return &row;
    return nullptr;
}

} // namespace

void TimelinePainter::reset()
{
    colours_.reset();
    laneTexts_.clear();
    words_.clear();
    stepLabels_.clear();
    durationLabels_.clear();
    forgetTimelines();
}

void TimelinePainter::forgetTimelines()
{
    labels_.clear();
    overview_.reset();
}

void TimelinePainter::paint(QPainter& painter, const TimelineScene& scene, int width, int height, bool vector)
{
    if (!colours_)
        colours_.emplace(colours());
    memory_ = scene.memoryRange();
    const QRect plot = scene.plot(width, height);
    for (const QRect& beside : QRegion(0, 0, width, height).subtracted(plot))
        painter.fillRect(beside, colours().surface);
    painter.setFont(Theme::instance().body());
    paintLanes(painter, scene, plot, vector);
    const std::vector<QRectF> names = namesBehindLines(scene);
    paintSpans(painter, scene, width, height, names);
    paintPlayheads(painter, scene, width, height);
    const QRect labelEdge(scene.sizes.label - 1, scene.sizes.overview, 1, height);
    painter.fillRect(labelEdge, colours().line); // below the heads, whose titles may be longer
    paintBands(painter, scene, width, plot);
    paintSelection(painter, scene, width, height);
    paintLaneDrop(painter, scene, width, height);
    if (scene.sizes.overview > 0)
        overview_.paint(painter, scene, *colours_, scene.overview(width), vector);
    paintRuler(painter, scene, scene.ruler(width));
    paintNotes(painter, scene, width, height, names);
    painter.fillRect(labelEdge.intersected(QRect(0, 0, width, plot.top())), colours().line);
}

// Where names are, if the scene has vertical lines, which are interrupted there.
std::vector<QRectF> TimelinePainter::namesBehindLines(const TimelineScene& scene) const
{
    std::vector<QRectF> names;
    const auto isSet = [](const auto& range) { return range.has_value(); };
    if (!scene.span && scene.notes.empty() && std::ranges::none_of(scene.selectedRange, isSet))
        return names;
    for (const TextRun& run : texts_)
        names.emplace_back(run.at, run.text->size());
    return names;
}

void TimelinePainter::paintBands(QPainter& painter, const TimelineScene& scene, int width, const QRect& plot)
{
    const TimelineLayout& layout = scene.layout;
    painter.save();
    // Headers cover the lanes that scroll below them.
    for (const bool headers : {false, true})
        for (const Band& band : layout.bands)
            if ((band.kind == Band::Kind::Header) == headers && scene.isSeen(band, plot.height()))
                paintBand(painter, scene, band, width, plot);
    if (layout.pinnedHeight > 0) {
        painter.setClipRect(QRect(0, plot.top(), width, plot.height()));
        painter.fillRect(QRect(0, plot.top() + layout.pinnedHeight - 1, width, 1), colours().strongLine);
    }
    painter.restore();
}

void TimelinePainter::paintBand(QPainter& painter, const TimelineScene& scene, const Band& band, int width,
                                const QRect& plot)
{
    const int pinned = scene.layout.pinnedHeight;
    const QRect area(0, plot.top() + scene.topOf(band), width, band.height);
    painter.setClipRect(band.isPinned ? QRect(0, plot.top(), width, pinned)
                                      : QRect(0, plot.top() + pinned, width, plot.height() - pinned));
    switch (band.kind) {
    case Band::Kind::Header:
        return paintRunHeader(painter, scene, band, area);
    case Band::Kind::Difference:
        if (!scene.play || scene.play->hasEnded())
            paintDifference(painter, scene, band, area);
        return;
    case Band::Kind::Counters:
        return paintCountersTitle(painter, scene, band, area, laneTexts_);
    case Band::Kind::Lane:
        break;
    }
    // The label of a lane that has begun above stays in sight as long as it has room.
    QRect label = area;
    if (!band.isPinned)
        label.setTop(std::clamp(plot.top() + scene.layout.coveredHeight(), area.top(),
                                std::max(area.top(), area.bottom() + 1 - scene.sizes.labelled)));
    paintLaneLabel(painter, scene, band, rangeFor(scene, scene.laneOf(band)), label, laneTexts_);
    paintMemoryPeak(painter, scene, band, memory_, area);
}

void TimelinePainter::paintLanes(QPainter& painter, const TimelineScene& scene, const QRect& plot,
                                 bool vector)
{
    constexpr std::size_t kMostTexts = 10'000;
    texts_.clear();
    if (durationLabels_.size() > kMostTexts)
        durationLabels_.clear();
    if (words_.size() > kMostTexts) {
        labels_.clear();
        words_.clear();
    }
    if (vector) {
        painter.save();
        painter.setClipRect(plot);
        painter.translate(plot.topLeft());
        PainterTarget target(painter);
        fillLanes(target, scene, plot, 1);
        painter.restore();
    } else {
        const double ratio = painter.device()->devicePixelRatioF();
        const QSize size(int(std::ceil(plot.width() * ratio)), int(std::ceil(plot.height() * ratio)));
        if (image_.size() != size)
            image_ = QImage(size, QImage::Format_RGB32);
        image_.setDevicePixelRatio(1);
        ImageTarget target(image_);
        fillLanes(target, scene, plot, ratio);
        image_.setDevicePixelRatio(ratio);
        painter.drawImage(plot.topLeft(), image_);
    }
    paintTexts(painter, plot);
}

void TimelinePainter::paintTexts(QPainter& painter, const QRect& plot)
{
    painter.save();
    painter.setClipRect(plot);
    painter.setFont(Theme::instance().small());
    for (const TextRun& run : texts_) {
        if (run.at.x() >= run.until)
            continue;
        const bool isCut = run.at.x() + run.text->size().width() > run.until;
        if (isCut)
            painter.setClipRect(QRectF(plot).intersected(
                QRectF(plot.left(), plot.top(), run.until - plot.left(), plot.height())));
        painter.setPen(run.colour);
        painter.drawStaticText(run.at, *run.text);
        if (isCut)
            painter.setClipRect(plot);
    }
    painter.restore();
}

std::vector<TimelinePainter::BoxName> TimelinePainter::fillPlot(BoxTarget& target, const TimelineScene& scene,
                                                                int width, int height)
{
    if (!colours_)
        colours_.emplace(colours());
    memory_ = scene.memoryRange();
    texts_.clear();
    fillLanes(target, scene, scene.plot(width, height), 1);
    std::vector<BoxName> names;
    for (const TextRun& run : texts_)
        names.push_back({run.at, run.text->text(), run.colour});
    return names;
}

void TimelinePainter::fillLanes(BoxTarget& target, const TimelineScene& scene, const QRect& plot,
                                double ratio)
{
    const int pinned = scene.layout.pinnedHeight;
    fillLanes(target, scene, QRect(0, pinned, plot.width(), plot.height() - pinned), plot, ratio, false);
    if (pinned == 0)
        return;
    fillLanes(target, scene, QRect(0, 0, plot.width(), pinned), plot, ratio, true);
}

// Draws the pinned or the other lanes in their part of the plot.
void TimelinePainter::fillLanes(BoxTarget& target, const TimelineScene& scene, const QRect& area,
                                const QRect& plot, double ratio, bool pinned)
{
    const auto device = [ratio](double v) { return int(std::lround(v * ratio)); };
    const auto isHere = [&](const Band& band) {
        return band.kind == Band::Kind::Lane && band.isPinned == pinned && scene.isSeen(band, plot.height());
    };
    // Each pixel once: the ground of the lanes, and the surface above, between and below them.
    const auto fillRows = [&](int top, int bottom, QRgb colour) {
        if (top < bottom)
            target.fill(0, int(std::ceil(plot.width() * ratio)), top, bottom, colour);
    };
    const int end = int(std::ceil((area.top() + area.height()) * ratio));
    int filled = device(area.top());
    for (const Band& band : scene.layout.bands) {
        if (!isHere(band) || scene.laneOf(band).kind == Lane::Kind::Ranges)
            continue;
        const int top = std::max(device(scene.topOf(band)), device(area.top()));
        const int bottom = std::min(device(scene.topOf(band) + band.height), end);
        fillRows(filled, top, colours().surface.rgb());
        fillRows(top, bottom, colours_->laneGround());
        filled = std::max(filled, bottom);
    }
    fillRows(filled, end, colours().surface.rgb());
    fillPhases(target, scene, plot, ratio, pinned);
    const QRgb grid = colours().grid.rgb();
    for (const Tick& tick : timeTicks(scene.window, plot.width(), scene.sizes.label * 0.6)) {
        const int x = device(scene.xOf(tick.at, plot.width() + scene.sizes.label) - scene.sizes.label);
        target.fill(x, x + 1, device(area.top()), device(area.top() + area.height()), grid);
    }
    fillSteps(target, scene, plot, ratio, pinned);
    for (const Band& band : scene.layout.bands)
        if (isHere(band))
            fillLane(target, scene, band, plot, ratio);
}

MemoryRange TimelinePainter::rangeFor(const TimelineScene& scene, const Lane& lane) const
{
    return lane.kind == Lane::Kind::Counter ? scene.rangeOf(lane) : memory_;
}

void TimelinePainter::fillLane(BoxTarget& whole, const TimelineScene& scene, const Band& band,
                               const QRect& plot, double ratio)
{
    const TimelineSection& section = scene.sections[band.section];
    const LaneView& view = section.lanes[band.view];
    const Lane& lane = section.timeline->lanes[view.lane];
    const int columns = int(std::ceil(plot.width() * ratio));
    const double from = section.toTimeline(scene.window.from);
    const double perColumn = scene.window.length() / section.stretch / plot.width() / ratio;
    const auto device = [ratio](double v) { return int(std::lround(v * ratio)); };
    const int top = scene.topOf(band);
    const double drawn = (scene.drawnTo(band.section) - scene.window.from) / section.stretch / perColumn;
    CutTarget cut(whole, int(std::lround(std::clamp(drawn, 0.0, double(columns)))));
    BoxTarget& target = scene.play ? cut : whole;
    if (const query::StepCurve* curve = curveOf(lane)) {
        const auto [area, edge] = curveColours(lane);
        fillCurve(target, *curve, curveEnd(lane), from, perColumn, columns, rangeFor(scene, lane),
                  device(top), device(top + band.height), area.rgb(), edge.rgb());
        hatchHoles(target, lane, from, perColumn, columns, device(top), device(top + band.height),
                   colours().strongLine.rgb(), colours_->laneGround());
    }
    const Track* const stepsRow =
        lane.kind == Lane::Kind::Ranges
            ? rowOfSteps(*section.timeline, lane, section.toTimeline(scene.window.from))
            : nullptr;
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
        const int rowTop = top + band.rowTop(row) - band.top;
        const int hidden = band.isPinned ? 0 : scene.layout.pinnedHeight;
        const int height = band.heightOf(row);
        if (rowTop + height < hidden || rowTop > plot.height())
            continue;
        const int gap = height > 8 ? 1 : 0;
        const int bottom = device(rowTop + height - gap);
        // A lower row has no room for shares.
        constexpr int kLeastShares = 6;
        if (bottom - device(rowTop) >= kLeastShares &&
            holdsManyPerColumn(lane.rows[row], from, perColumn, columns)) {
            makeShares(lane.rows[row], from, perColumn, columns, shares_);
            fillShares(target, shares_, *colours_, lane.kind, row, device(rowTop), bottom);
            boxes_.spans.clear();
        } else {
            makeBoxes(lane.rows[row], from, perColumn, columns, columns_, boxes_);
            fillBoxes(target, boxes_, *colours_, lane.kind, row, device(rowTop), bottom);
        }
        if (&lane.rows[row] == stepsRow && !view.folded && rowTop >= hidden)
            markSteps(target, scene, band, rowTop,
                      QRect(plot.left(), plot.top() + rowTop, plot.width(), height - gap), ratio);
        if (!view.folded && lane.kind != Lane::Kind::Busy && rowTop >= hidden)
            collectLabels(scene, band, row,
                          QRect(plot.left(), plot.top() + rowTop, plot.width(), height - gap), ratio);
    }
}

const QStaticText* TimelinePainter::fitting(const query::Timeline& timeline, std::uint32_t name, double width)
{
    std::vector<Label*>& labels = labels_[&timeline];
    labels.resize(timeline.names.size());
    if (labels[name] == nullptr)
        labels[name] = &words_[timeline.names[name].label];
    Label& label = *labels[name];
    if (label.prefixes.empty()) {
        QString text = QString::fromStdString(timeline.names[name].label);
        constexpr int kMostPrefixes = 5;
        for (int i = 0; i < kMostPrefixes && (text.size() > 1 || (i > 0 && isNumber(text))); ++i) {
            label.prefixes.push_back(prepared(text));
            // In tilescope::attention_forward, the name is more useful than the namespace, which neighbours share.
            if (const auto scope = text.lastIndexOf(QLatin1String("::"));
                scope > 0 && scope + 2 < text.size()) {
                text = text.mid(scope + 2);
                continue;
            }
            auto cut = text.size() - 1;
            while (cut > 0 && text[cut].isLetterOrNumber())
                --cut;
            // In layers.7, the number is more useful than the word, which neighbours share.
            const QString last = text.mid(cut + 1);
            if (cut > 0 && text[cut] == QLatin1Char('.') && isNumber(last)) {
                text = last;
                continue;
            }
            text = text.left(cut);
            while (!text.isEmpty() && !text.back().isLetterOrNumber())
                text.chop(1);
        }
        if (label.prefixes.empty())
            label.prefixes.push_back(prepared(text));
    }
    for (const auto& [text, needed] : label.prefixes)
        if (needed <= width)
            return &text;
    return nullptr;
}

// All steps have the same name: the label shows the number.
const QStaticText* TimelinePainter::stepLabel(const query::Timeline& timeline, std::int64_t start,
                                              double width)
{
    const auto step =
        std::lower_bound(timeline.steps.begin(), timeline.steps.end(), start,
                         [](const query::TimelineStep& s, std::int64_t t) { return s.hostStart < t; });
    if (step == timeline.steps.end() || step->hostStart != start)
        return nullptr;
    const auto [found, isNew] = stepLabels_.try_emplace(step->step);
    if (isNew)
        found->second = prepared(QStringLiteral("step %1").arg(step->step));
    return found->second.second <= width ? &found->second.first : nullptr;
}

/// Marks some of the steps, with their numbers, where none is wide enough for its own: each 10th, or each 200th.
void TimelinePainter::markSteps(BoxTarget& target, const TimelineScene& scene, const Band& band, int rowTop,
                                const QRect& rowRect, double ratio)
{
    const TimelineSection& section = scene.sections[band.section];
    const std::vector<query::TimelineStep>& steps = section.timeline->steps;
    const int width = rowRect.width();
    const double from = section.toTimeline(scene.window.from);
    const double perPixel = scene.window.length() / section.stretch / width;
    const auto isBefore = [](const query::TimelineStep& step, double time) {
        return double(step.hostStart) < time;
    };
    const auto first = std::lower_bound(steps.begin(), steps.end(), from, isBefore);
    const auto last = std::lower_bound(first, steps.end(), from + width * perPixel, isBefore);
    const Track* const row =
        rowOfSteps(*section.timeline, section.timeline->lanes[section.lanes[band.view].lane], from);
    if (last - first < 2 || row == nullptr)
        return;
    const QFontMetrics metrics(Theme::instance().small());
    // A wider step has its number inside.
    const double own = metrics.horizontalAdvance(QStringLiteral("step 1000")) + 2 * sizes().of(4);
    if (double(row->length(row->firstFrom(std::int64_t(from)))) / perPixel >= own)
        return;
    const double room = metrics.horizontalAdvance(QStringLiteral("step 100000")) + sizes().of(16);
    const auto [least, most] =
        std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.step < b.step; });
    const double wanted = room * double(most->step - least->step + 1) /
                          std::max(1.0, double((last - 1)->hostStart - first->hostStart) / perPixel);
    std::int64_t every = 1;
    for (std::int64_t unit = 1; double(every) < wanted; unit *= 10)
        for (const std::int64_t factor : {1, 2, 5})
            if (double(every) < wanted)
                every = factor * unit;
    const QRgb colour = colours().text.rgb();
    const auto device = [ratio](double v) { return int(std::lround(v * ratio)); };
    const int top = rowRect.top();
    std::int32_t marked = -1;
    for (auto step = first; step != last; ++step) {
        if (step->step % every != 0 || step->step <= marked)
            continue; // several processes have the same steps
        marked = step->step;
        const double x = (double(step->hostStart) - from) / perPixel;
        target.fill(device(x), device(x) + 1, device(rowTop), device(rowTop + rowRect.height()), colour);
        const QStaticText* const text = stepLabel(*section.timeline, step->hostStart, room);
        if (text && rowRect.height() >= metrics.ascent() + 2)
            texts_.push_back(
                {QPointF(rowRect.left() + x + sizes().of(4),
                         top + (rowRect.height() - metrics.height()) / 2.0),
                 text,
                 textOn(QColor(colours_->of(Lane::Kind::Ranges, query::Hue::Range, 0, BoxRun::kLevels))),
                 scene.xOf(scene.drawnTo(band.section), rowRect.left() + width)});
    }
}

const QStaticText* TimelinePainter::durationLabel(std::int64_t nanoseconds, double width)
{
    const auto [found, isNew] = durationLabels_.try_emplace(nanoseconds);
    if (isNew)
        found->second = prepared(timeText(double(nanoseconds)));
    return found->second.second <= width ? &found->second.first : nullptr;
}

void TimelinePainter::collectLabels(const TimelineScene& scene, const Band& band, std::size_t row,
                                    const QRect& rowRect, double ratio)
{
    const QFontMetrics metrics(Theme::instance().small());
    if (rowRect.height() < metrics.ascent() + 2)
        return;
    const TimelineSection& section = scene.sections[band.section];
    const Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
    const double padding = sizes().of(4);
    const bool hasTwoLines = rowRect.height() >= 2 * metrics.height();
    const double until = scene.xOf(scene.drawnTo(band.section), rowRect.left() + rowRect.width());
    for (const BoxSpan& span : boxes_.spans) {
        const double left = rowRect.left() + span.from / ratio;
        const double right = rowRect.left() + span.to / ratio;
        if (right - left < 2 * padding + metrics.averageCharWidth())
            continue;
        const Track& track = lane.rows[row];
        const double room = right - left - 2 * padding;
        // A step without room for its number has no name: all have the same, and some are marked.
        const QStaticText* const text =
            lane.kind == Lane::Kind::Ranges && isStep(*section.timeline, track, span.item)
                ? stepLabel(*section.timeline, track.start(span.item), room)
                : fitting(*section.timeline, track.name(span.item), room);
        if (text == nullptr)
            continue;
        const QColor colour =
            textOn(QColor(colours_->of(lane.kind, track.hue(span.item), row, BoxRun::kLevels)));
        const QStaticText* duration = hasTwoLines ? durationLabel(track.length(span.item), room) : nullptr;
        const int lines = duration != nullptr ? 2 : 1;
        const double y = rowRect.top() + (rowRect.height() - lines * metrics.height()) / 2.0;
        texts_.push_back({QPointF(left + padding, y), text, colour, until});
        if (duration != nullptr)
            texts_.push_back({QPointF(left + padding, y + metrics.height()), duration, colour, until});
    }
}

} // namespace tilescope::ui
