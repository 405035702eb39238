#include "ui/ranks/rank_lanes_painter.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/hatch.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/box_runs.h"
#include "ui/timeline/lane_painter.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostBands = 400;

bool isIdle(query::Hue hue)
{
    return hue.isWait() || hue.isGap();
}

/// The ground of the time in which a rank waits in a collective.
void fillWaiting(QPainter& painter, const QRectF& box)
{
    const QColor colour = colours().hue(query::Hue::Collective);
    fillHatched(painter, box, blend(colour, colours().surface, 0.75), blend(colour, colours().surface, 0.18));
}

} // namespace

// Those in sight; of many, those at which ranks wait longest.
std::vector<std::size_t> RankLanesPainter::bandsToDraw() const
{
    std::vector<std::size_t> inside;
    for (std::size_t i = 0; i < lanes_.collectives.size(); ++i)
        if (const RankLanes::Collective& each = lanes_.collectives[i];
            each.first <= frame_.window.to && each.end >= frame_.window.from)
            inside.push_back(i);
    if (inside.size() > kMostBands) {
        std::ranges::stable_sort(inside, std::ranges::greater{},
                                 [this](std::size_t i) { return lanes_.collectives[i].wait; });
        inside.resize(kMostBands);
    }
    return inside;
}

void RankLanesPainter::drawAxis(QPainter& painter) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (const Tick& tick : timeTicks(frame_.window, frame_.right - frame_.left, sizes().of(90))) {
        const double x = frame_.x(tick.at);
        painter.setPen(p.grid);
        painter.drawLine(QPointF(x, sizes().of(RankLanesFrame::kAxisHeight) - 3),
                         QPointF(x, frame_.bottom()));
        const double width = metrics.horizontalAdvance(tick.label);
        painter.setPen(p.dimText);
        painter.drawText(QRectF(std::min(x - width / 2, frame_.right - width), 0, width + 1,
                                sizes().of(RankLanesFrame::kAxisHeight) - 3),
                         Qt::AlignCenter, tick.label);
    }
}

void RankLanesPainter::fillRows(QPainter& painter, std::size_t rank, const RankLanes::Rows& rows,
                                bool onlyIdle) const
{
    const QRectF row = frame_.work(rank);
    const double ratio = painter.device()->devicePixelRatioF();
    const int columns = int(std::ceil(row.width() * ratio));
    const double perColumn = frame_.window.length() / double(columns);
    const double from = double((lanes_.begin - lanes_.timeline->origin).count()) + frame_.window.from;
    const BoxColours boxColours(colours());
    const query::Lane& lane = lanes_.timeline->lanes[rows.lane];
    std::vector<query::Column> scratch;
    RowBoxes boxes;
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (const std::size_t each : rows.rows) {
        const query::Track& track = lane.rows[each];
        makeBoxes(track, from, perColumn, columns, scratch, boxes);
        std::erase_if(boxes.runs, [onlyIdle](const BoxRun& run) { return onlyIdle != isIdle(run.hue); });
        painter.save();
        painter.translate(row.topLeft());
        painter.scale(1 / ratio, 1 / ratio);
        PainterTarget target(painter);
        fillBoxes(target, boxes, boxColours, lane.kind, each, 0, int(std::lround(row.height() * ratio)));
        painter.restore();
        for (const BoxSpan& span : boxes.spans) {
            const query::Hue hue = track.hue(span.item);
            if (onlyIdle != isIdle(hue))
                continue;
            const QRectF box(row.left() + span.from / ratio, row.top(), (span.to - span.from) / ratio,
                             row.height());
            const QString text =
                onlyIdle ? QString::fromUtf8(query::hueWord(hue)) + QLatin1Char(' ') +
                               timeText(double(track.length(span.item)))
                         : QString::fromStdString(lanes_.timeline->names[track.name(span.item)].label);
            if (metrics.horizontalAdvance(text) + sizes().of(8) > box.width())
                continue;
            const QColor fill = boxColours.of(lane.kind, hue, each, BoxRun::kLevels);
            painter.setPen(hue == query::Hue::GapUnexplained ? colours().dimText : textOn(fill));
            if (hue == query::Hue::GapUnexplained)
                painter.fillRect(QRectF(box.center().x() - metrics.horizontalAdvance(text) / 2.0 - 3,
                                        box.top() + 2, metrics.horizontalAdvance(text) + 6, box.height() - 4),
                                 colours().laneGround);
            painter.drawText(box, Qt::AlignCenter, text);
        }
    }
}

void RankLanesPainter::drawWork(QPainter& painter, std::size_t rank) const
{
    if (!lanes_.timeline)
        return;
    if (const auto& idle = lanes_.ranks[rank].idle)
        fillRows(painter, rank, *idle, true);
    for (const RankLanes::Rows& rows : lanes_.ranks[rank].work)
        fillRows(painter, rank, rows, false);
}

void RankLanesPainter::drawBands(QPainter& painter) const
{
    const QColor colour = colours().hue(query::Hue::Collective);
    const auto draw = [&](std::size_t collective, int fill, int edge) {
        QColor ground = colour;
        ground.setAlpha(fill);
        QColor line = colour;
        line.setAlpha(edge);
        for (const QPolygonF& band : frame_.bands(lanes_, collective)) {
            const QRectF around = band.boundingRect();
            if (around.right() < frame_.left || around.left() > frame_.right)
                continue;
            painter.setPen(Qt::NoPen);
            painter.setBrush(ground);
            painter.drawPolygon(band);
            painter.setPen(QPen(line, 1));
            painter.drawLine(band[0], band[3]);
            painter.drawLine(band[1], band[2]);
        }
    };
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    for (const std::size_t collective : bandsToDraw())
        if (marked_ != collective)
            draw(collective, 26, 70);
    if (marked_)
        draw(*marked_, 76, 255);
    painter.restore();
}

void RankLanesPainter::drawParts(QPainter& painter, std::size_t rank) const
{
    const Palette& p = colours();
    const QColor colour = p.hue(query::Hue::Collective);
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    const auto eachShown = [&](auto draw) {
        for (const RankLanes::Part& part : lanes_.ranks[rank].parts) {
            if (part.end < frame_.window.from || part.start > frame_.window.to)
                continue;
            const QRectF box = frame_.part(rank, part);
            const double ready = std::clamp(frame_.x(part.ready), box.left(), box.right());
            // What is short is still seen.
            draw(part, QRectF(box.left(), box.top(), ready - box.left(), box.height()),
                 QRectF(ready, box.top(), std::max(1.0, box.right() - ready), box.height()));
        }
    };
    eachShown([&](const RankLanes::Part& part, const QRectF& waits, const QRectF& transfers) {
        if (waits.width() >= 1)
            fillWaiting(painter, waits);
        painter.fillRect(transfers.width() > 3 ? transfers.adjusted(0, 0, -0.5, 0) : transfers, colour);
        if (marked_ == part.collective) {
            painter.setPen(QPen(p.accent, focusedRank_ == rank ? 2 : 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(frame_.part(rank, part).adjusted(0, 0, -1, -1));
        }
    });
    // Collectives of several groups overlap in time: no box covers the words of another one.
    eachShown([&](const RankLanes::Part& part, const QRectF& waits, const QRectF& transfers) {
        if (waits.width() >= 1) {
            const QString amount = timeText(part.ready - part.start);
            for (const QString& text : {tr("waits %1").arg(amount), amount}) {
                const double width = metrics.horizontalAdvance(text) + sizes().of(6);
                if (width + sizes().of(4) > waits.width())
                    continue;
                const QRectF label(waits.center().x() - width / 2, waits.top() + 1, width,
                                   waits.height() - 2);
                painter.fillRect(label, p.surface);
                painter.setPen(p.text);
                painter.drawText(label, Qt::AlignCenter, text);
                break;
            }
        }
        const QString& number = lanes_.collectives[part.collective].number;
        if (metrics.horizontalAdvance(number) + 2 <= transfers.width()) {
            painter.setPen(textOn(colour));
            painter.drawText(transfers, Qt::AlignCenter, number);
        }
    });
}

// From the first rank's start to that of the last one, in the row of the latter.
void RankLanesPainter::drawLateness(QPainter& painter) const
{
    if (!marked_ || lanes_.collectives[*marked_].afterFirst <= 0)
        return;
    const RankLanes::Collective& collective = lanes_.collectives[*marked_];
    const auto rank = std::ranges::find(lanes_.ranks, collective.last, &RankLanes::Rank::title);
    if (rank == lanes_.ranks.end())
        return;
    const QRectF row = frame_.parts(std::size_t(rank - lanes_.ranks.begin()));
    const double from = frame_.x(collective.first);
    const double to = frame_.x(collective.first + collective.afterFirst);
    if (to - from < sizes().of(16))
        return;
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    const double y = row.center().y();
    painter.setPen(QPen(p.warning, 1.5));
    painter.drawLine(QPointF(from, y), QPointF(to - 1, y));
    for (const auto& [x, towards] : {std::pair(from, 4.0), std::pair(to - 1, -4.0)}) {
        painter.drawLine(QPointF(x, y), QPointF(x + towards, y - 3));
        painter.drawLine(QPointF(x, y), QPointF(x + towards, y + 3));
    }
    const QString amount = timeText(collective.afterFirst);
    for (const QString& text : {tr("%1 after the first").arg(amount), amount}) {
        const double width = metrics.horizontalAdvance(text) + sizes().of(8);
        if (width + sizes().of(20) > to - from)
            continue;
        const QRectF label((from + to - width) / 2, row.top(), width, row.height());
        painter.fillRect(label, p.surface);
        painter.drawText(label, Qt::AlignCenter, text);
        return;
    }
}

void RankLanesPainter::drawTitles(QPainter& painter) const
{
    const Palette& p = colours();
    const double width = frame_.left - sizes().padding - sizes().of(8);
    const QString last = marked_ && lanes_.collectives[*marked_].afterFirst > 0
                             ? lanes_.collectives[*marked_].last
                             : QString();
    for (std::size_t i = 0; i < lanes_.ranks.size(); ++i) {
        const QString& title = lanes_.ranks[i].title;
        painter.setFont(Theme::instance().bold());
        painter.setPen(title == last ? p.warning : p.text);
        QRectF row = frame_.work(i);
        painter.drawText(QRectF(sizes().padding, row.top(), width, row.height()),
                         Qt::AlignVCenter | Qt::AlignLeft,
                         elidedText(title, QFontMetrics(painter.font()), Qt::ElideMiddle, int(width)));
        if (focusedRank_ == i) {
            painter.setPen(QPen(p.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(QRectF(sizes().of(4), row.top(), frame_.left - sizes().of(10), row.height()));
        }
        painter.setFont(Theme::instance().small());
        painter.setPen(p.dimText);
        row = frame_.parts(i);
        painter.drawText(
            QRectF(sizes().padding, row.top(), width, row.height()), Qt::AlignVCenter | Qt::AlignLeft,
            elidedText(tr("collectives"), QFontMetrics(painter.font()), Qt::ElideRight, int(width)));
    }
}

void RankLanesPainter::drawLegend(QPainter& painter) const
{
    const Palette& p = colours();
    std::array<std::int64_t, query::kHueCount> times{};
    std::array<query::Lane::Kind, query::kHueCount> kinds{};
    if (lanes_.timeline) {
        const std::int64_t from =
            (lanes_.begin - lanes_.timeline->origin).count() + std::int64_t(frame_.window.from);
        const std::int64_t to = from + std::int64_t(frame_.window.length());
        const auto count = [&](const RankLanes::Rows& rows, bool idle) {
            for (const std::size_t row : rows.rows) {
                const auto covered = lanes_.timeline->lanes[rows.lane].rows[row].coveredByHue(from, to);
                for (std::size_t hue = 0; hue < covered.size(); ++hue)
                    if (covered[hue] > 0 && idle == isIdle(query::Hue(hue))) {
                        times[hue] += covered[hue];
                        kinds[hue] = lanes_.timeline->lanes[rows.lane].kind;
                    }
            }
        };
        for (const RankLanes::Rank& rank : lanes_.ranks) {
            for (const RankLanes::Rows& rows : rank.work)
                count(rows, false);
            if (rank.idle)
                count(*rank.idle, true);
        }
    }
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    const double side = sizes().of(9);
    double x = frame_.left;
    const double y = frame_.bottom() + sizes().of(4);
    const auto key = [&](const QString& word, const auto& fill) {
        const double width = side + sizes().of(5) + metrics.horizontalAdvance(word);
        if (x + width > frame_.right)
            return;
        fill(QRectF(x, y + (metrics.height() - side) / 2, side, side));
        painter.setPen(p.dimText);
        painter.drawText(QPointF(x + side + sizes().of(5), y + metrics.ascent()), word);
        x += width + sizes().of(14);
    };
    const QColor collective = p.hue(query::Hue::Collective);
    if (!lanes_.collectives.empty()) {
        key(tr("waits for the last rank"), [&](const QRectF& box) { fillWaiting(painter, box); });
        key(tr("transfers"), [&](const QRectF& box) { painter.fillRect(box, collective); });
    }
    std::vector<std::size_t> hues;
    for (std::size_t hue = 0; hue < times.size(); ++hue)
        if (times[hue] > 0 && query::Hue(hue) != query::Hue::Collective)
            hues.push_back(hue);
    std::ranges::stable_sort(hues, std::ranges::greater{}, [&](std::size_t hue) { return times[hue]; });
    const BoxColours boxColours(p);
    for (const std::size_t each : hues) {
        const query::Hue hue(each);
        key(QString::fromUtf8(query::hueWord(hue)), [&](const QRectF& box) {
            if (hue == query::Hue::GapUnexplained)
                fillHatched(painter, box, p.strongLine, p.surface);
            else
                painter.fillRect(box, boxColours.of(kinds[each], hue, 0, BoxRun::kLevels));
        });
    }
}

void RankLanesPainter::draw(QPainter& painter) const
{
    if (lanes_.isEmpty())
        return;
    drawTitles(painter);
    drawLegend(painter);
    painter.save();
    drawAxis(painter);
    painter.setClipRect(QRectF(frame_.left, 0, frame_.right - frame_.left, frame_.bottom()),
                        Qt::IntersectClip);
    for (std::size_t rank = 0; rank < frame_.ranks; ++rank)
        painter.fillRect(frame_.work(rank), colours().laneGround);
    drawBands(painter);
    for (std::size_t rank = 0; rank < frame_.ranks; ++rank) {
        drawWork(painter, rank);
        drawParts(painter, rank);
    }
    drawLateness(painter);
    painter.restore();
}

} // namespace tilescope::ui
