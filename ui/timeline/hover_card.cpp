#include "ui/timeline/hover_card.h"

#include "core/query/timeline/work_beneath.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_curve.h"

#include <QObject>
#include <QPainter>

#include <algorithm>
#include <span>
#include <vector>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

// A gap is named by its reason and by the work that ends it.
ItemWords wordsOfGap(const TimelineScene& scene, const SectionItem& item)
{
    const query::Timeline& timeline = *scene.sections[item.section].timeline;
    const Lane& lane = timeline.lanes[item.item.lane];
    const Track& row = lane.rows[item.item.row];
    QString second;
    const std::string_view reason = hueWord(row.hue(item.item.index));
    // Several reasons may follow each other: the gap ends with the next busy box.
    std::size_t next = item.item.index;
    while (next < row.size() && row.hue(next) != query::Hue::Busy)
        ++next;
    for (const Lane& stream : timeline.lanes) {
        if (next == row.size() || stream.kind != Lane::Kind::Stream || stream.device != lane.device)
            continue;
        for (const Track& boxes : stream.rows) {
            const std::size_t first = boxes.firstFrom(row.start(next));
            if (first < boxes.size() && boxes.start(first) == row.start(next))
                second = QObject::tr("waits for %1 on %2")
                             .arg(QString::fromStdString(timeline.names[boxes.name(first)].label),
                                  QString::fromStdString(stream.title));
        }
    }
    return {QObject::tr("Idle %1  %2")
                .arg(timeText(double(row.length(item.item.index))), QString::fromUtf8(reason)),
            second};
}

// The kernels beneath the sample at a time, with the parts of it that they take.
void addWork(ItemWords& words, const TimelineSection& section, const Lane& lane, std::int64_t time)
{
    constexpr std::size_t kMostLines = 4;
    auto [from, to] = lane.values.stepAt(time, lane.valuesEnd);
    for (const auto& [holeStart, holeEnd] : lane.holes) {
        if (holeEnd <= time)
            from = std::max(from, holeEnd);
        else
            to = std::min(to, holeStart);
    }
    words.second = QObject::tr("%1 to %2")
                       .arg(timeText(section.toAxis(double(from))), timeText(section.toAxis(double(to))));
    const std::vector<query::WorkBeneath> works =
        query::workBeneath(*section.timeline, lane.device, from, to);
    for (const query::WorkBeneath& work : std::span(works).first(std::min(works.size(), kMostLines)))
        words.more << QObject::tr("%1  %2 of %3")
                          .arg(QString::fromStdString(section.timeline->names[work.name].label),
                               timeText(double(work.time)), timeText(double(to - from)));
    if (works.size() > kMostLines)
        words.more << QObject::tr("and %1 more").arg(works.size() - kMostLines);
    if (works.empty())
        words.more << QObject::tr("nothing ran");
}

} // namespace

ItemWords wordsOf(const TimelineScene& scene, const SectionItem& item)
{
    const query::Timeline& timeline = *scene.sections[item.section].timeline;
    const Lane& lane = timeline.lanes[item.item.lane];
    const Track& row = lane.rows[item.item.row];
    const query::TimelineName& name = timeline.names[row.name(item.item.index)];
    const QString length = timeText(double(row.length(item.item.index)));
    const std::string_view word = hueWord(row.hue(item.item.index));
    QString second = QString::fromUtf8(word);
    if (lane.kind == Lane::Kind::Ranges || lane.kind == Lane::Kind::Frames)
        second = QString::fromStdString(name.text);
    else if (lane.kind == Lane::Kind::Busy && row.hue(item.item.index) == query::Hue::Busy)
        second = QObject::tr("GPU busy");
    else if (lane.kind == Lane::Kind::Busy)
        return wordsOfGap(scene, item);
    return {QString::fromStdString(name.label) + QStringLiteral("  ") + length, second};
}

std::optional<ItemWords> curveWordsAt(const TimelineScene& scene, QPoint point, const QSize& view)
{
    const Band* band = scene.curveAt(point, view.width(), view.height());
    if (band == nullptr)
        return {};
    const Lane& lane = scene.laneOf(*band);
    const TimelineSection& section = scene.sections[band->section];
    const double axis = scene.axisAt(point.x(), view.width());
    const double time = section.toTimeline(axis);
    if (lane.holeAt(std::int64_t(time)))
        return ItemWords{QString::fromStdString(lane.title), QObject::tr("no samples here")};
    const auto value = curveValueAt(lane, time);
    if (!value)
        return {};
    ItemWords words{QString::fromStdString(lane.title) + QStringLiteral("  ") + curveText(lane, *value),
                    QObject::tr("at %1").arg(timeText(axis))};
    if (lane.isMetric())
        addWork(words, section, lane, std::int64_t(time));
    return words;
}

void paintHoverCard(QPainter& painter, const TimelineScene& scene, const SectionItem& item, QPoint cursor,
                    const QSize& view)
{
    const QRect box = scene.rectOf(item, view.width(), view.height());
    painter.setPen(colours().text);
    painter.setBrush(Qt::NoBrush);
    painter.save();
    painter.setClipRect(scene.plot(view.width(), view.height()));
    painter.drawRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
    paintCard(painter, wordsOf(scene, item), cursor, view);
}

void paintCard(QPainter& painter, const ItemWords& words, QPoint cursor, const QSize& view)
{
    const Palette& p = colours();
    const QFontMetrics bold(Theme::instance().bold());
    const QFontMetrics body(Theme::instance().body());
    const int pad = sizes().of(8);
    const int maximum = std::min(view.width() - 2 * pad, sizes().of(420));
    const QString firstShown = elidedText(words.first, bold, Qt::ElideMiddle, maximum);
    const QString secondShown = elidedText(words.second, body, Qt::ElideMiddle, maximum);
    int width = std::max(bold.horizontalAdvance(firstShown), body.horizontalAdvance(secondShown));
    QStringList moreShown;
    for (const QString& line : words.more) {
        moreShown << elidedText(line, body, Qt::ElideMiddle, maximum);
        width = std::max(width, body.horizontalAdvance(moreShown.back()));
    }
    const int below = int(moreShown.size()) * body.height();
    QRect card(0, 0, width + 2 * pad, bold.height() + body.height() + below + 2 * pad - 4);
    card.moveTopLeft(cursor + QPoint(sizes().of(14), sizes().of(18)));
    if (card.right() > view.width() - 4)
        card.moveRight(std::max(card.width(), cursor.x() - sizes().of(6)));
    if (card.bottom() > view.height() - 4)
        card.moveBottom(cursor.y() - sizes().of(8));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(p.strongLine);
    painter.setBrush(p.surface);
    painter.drawRoundedRect(QRectF(card).adjusted(0.5, 0.5, -0.5, -0.5), sizes().radius, sizes().radius);
    painter.setPen(p.text);
    painter.setFont(Theme::instance().bold());
    painter.drawText(card.adjusted(pad, pad - 2, -pad, 0), Qt::AlignTop | Qt::AlignLeft, firstShown);
    painter.setPen(p.dimText);
    painter.setFont(Theme::instance().body());
    painter.drawText(card.adjusted(pad, 0, -pad, -pad + 2 - below), Qt::AlignBottom | Qt::AlignLeft,
                     secondShown);
    painter.drawText(card.adjusted(pad, 0, -pad, -pad + 2), Qt::AlignBottom | Qt::AlignLeft,
                     moreShown.join(QLatin1Char('\n')));
}

} // namespace tilescope::ui
