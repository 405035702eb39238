// What a timeline says of what is under the cursor.

#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

using query::Lane;
using query::Track;

QString TimelineView::describe(const SectionItem& item, QString& second) const
{
    const query::Timeline& timeline = *scene_.sections[item.section].timeline;
    const Lane& lane = timeline.lanes[item.item.lane];
    const Track& row = lane.rows[item.item.row];
    const query::TimelineName& name = timeline.names[row.name(item.item.index)];
    const QString length = timeText(double(row.length(item.item.index)));
    const std::string_view word = hueWord(row.hue(item.item.index));
    second = QString::fromUtf8(word.data(), qsizetype(word.size()));
    if (lane.kind == Lane::Kind::Ranges)
        second = QString::fromStdString(name.text);
    else if (lane.kind == Lane::Kind::Busy && row.hue(item.item.index) == query::Hue::Busy)
        second = tr("the device works");
    else if (lane.kind == Lane::Kind::Busy)
        return describeGap(item, second);
    return QString::fromStdString(name.label) + QStringLiteral("  ") + length;
}

// A gap's name is its reason; what it ends with is what the device waited for.
QString TimelineView::describeGap(const SectionItem& item, QString& second) const
{
    const query::Timeline& timeline = *scene_.sections[item.section].timeline;
    const Lane& lane = timeline.lanes[item.item.lane];
    const Track& row = lane.rows[item.item.row];
    const std::string_view reason = hueWord(row.hue(item.item.index));
    // A gap may have several reasons one after the other: it ends where the device works again.
    std::size_t next = item.item.index;
    while (next < row.size() && row.hue(next) != query::Hue::Busy)
        ++next;
    for (const Lane& stream : timeline.lanes) {
        if (next == row.size() || stream.kind != Lane::Kind::Stream || stream.device != lane.device)
            continue;
        for (const Track& boxes : stream.rows) {
            const std::size_t first = boxes.firstFrom(row.start(next));
            if (first < boxes.size() && boxes.start(first) == row.start(next))
                second = tr("waits for %1 on %2")
                             .arg(QString::fromStdString(timeline.names[boxes.name(first)].label),
                                  QString::fromStdString(stream.title));
        }
    }
    return tr("Idle %1  %2")
        .arg(timeText(double(row.length(item.item.index))),
             QString::fromUtf8(reason.data(), qsizetype(reason.size())));
}

QString TimelineView::hoverText() const
{
    if (!hovered_)
        return {};
    QString second;
    const QString first = describe(*hovered_, second);
    return second.isEmpty() ? first : first + QLatin1Char('\n') + second;
}

void TimelineView::paintHover(QPainter& painter)
{
    if (!hovered_)
        return;
    QString second;
    const QString first = describe(*hovered_, second);
    const Palette& p = colours();
    const QFontMetrics bold(Theme::instance().bold());
    const QFontMetrics body(Theme::instance().body());
    const int pad = sizes().of(8);
    const int maximum = std::min(width() - 2 * pad, sizes().of(420));
    const QString firstShown = bold.elidedText(first, Qt::ElideMiddle, maximum);
    const QString secondShown = body.elidedText(second, Qt::ElideMiddle, maximum);
    QRect card(0, 0,
               std::max(bold.horizontalAdvance(firstShown), body.horizontalAdvance(secondShown)) + 2 * pad,
               bold.height() + body.height() + 2 * pad - 4);
    card.moveTopLeft(cursor_ + QPoint(sizes().of(14), sizes().of(18)));
    if (card.right() > width() - 4)
        card.moveRight(std::max(card.width(), cursor_.x() - sizes().of(6)));
    if (card.bottom() > height() - 4)
        card.moveBottom(cursor_.y() - sizes().of(8));
    const QRect box = scene_.rectOf(*hovered_, width(), height());
    painter.setPen(p.text);
    painter.setBrush(Qt::NoBrush);
    painter.save();
    painter.setClipRect(scene_.plot(width(), height()));
    painter.drawRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
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

// What lies under a cursor that rests changes with the window, the lanes and the scroll bar.
void TimelineView::hoverAgain()
{
    if (isOver_ && drag_ == Drag::None)
        hover(cursor_);
}

void TimelineView::leave()
{
    isOver_ = false;
    hovered_.reset();
    emit cursorMoved({});
    viewport()->update();
}

void TimelineView::hover(QPoint at)
{
    cursor_ = at;
    isOver_ = viewport()->rect().contains(at);
    const auto item = scene_.itemAt(at, width(), height());
    const bool moved = item || hovered_;
    hovered_ = item;
    if (moved)
        viewport()->update();
    if (scene_.sections.empty() || !isOver_ || at.x() < scene_.sizes.label) {
        emit cursorMoved({});
        return;
    }
    const double axis = scene_.axisAt(at.x(), width());
    const Band* band = bandAt(at);
    QString where;
    if (band != nullptr && band->kind == Band::Kind::Lane) {
        const TimelineSection& section = scene_.sections[band->section];
        const Lane& lane = section.timeline->lanes[section.lanes[band->view].lane];
        where = section.letter.isEmpty() ? QString() : section.letter + QStringLiteral(", ");
        where += QString::fromStdString(lane.title);
    }
    emit cursorMoved(timeText(axis) + QStringLiteral("  ") + where);
}

bool TimelineView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const QPoint at = static_cast<QHelpEvent*>(event)->pos();
        QString tip;
        if (const auto id = noteAt(at)) {
            for (const SceneNote& note : scene_.notes)
                if (note.id == *id)
                    tip = note.text.isEmpty() ? tr("Bookmark") : note.text;
        } else if (const Band* band = bandAt(at);
                   band != nullptr && at.x() < scene_.sizes.label && band->kind == Band::Kind::Lane) {
            tip = tr("Click folds the lane (C), a drag moves it (Ctrl+Shift+Up, Ctrl+Shift+Down); its lower "
                     "edge sets its height (Ctrl++, Ctrl+-). Right click for more.");
        }
        // Notes hold what somebody wrote into a file: as text, never as markup.
        tip.isEmpty() ? QToolTip::hideText()
                      : QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tip.toHtmlEscaped(),
                                           viewport());
        return true;
    }
    if (event->type() == QEvent::Leave)
        leave();
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace tilescope::ui
