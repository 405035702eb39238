#include "ui/timeline/hover_card.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_curve.h"

#include <QObject>
#include <QPainter>

#include <algorithm>

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
    const double axis = scene.axisAt(point.x(), view.width());
    const auto value = curveValueAt(lane, scene.sections[band->section].toTimeline(axis));
    if (!value)
        return {};
    return ItemWords{QString::fromStdString(lane.title) + QStringLiteral("  ") + curveText(lane, *value),
                     QObject::tr("at %1").arg(timeText(axis))};
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
    QRect card(0, 0,
               std::max(bold.horizontalAdvance(firstShown), body.horizontalAdvance(secondShown)) + 2 * pad,
               bold.height() + body.height() + 2 * pad - 4);
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
    painter.drawText(card.adjusted(pad, 0, -pad, -pad + 2), Qt::AlignBottom | Qt::AlignLeft, secondShown);
}

} // namespace tilescope::ui
