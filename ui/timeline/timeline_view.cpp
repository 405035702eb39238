#include "ui/timeline/timeline_view.h"

#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/kit/vector_drawing.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_growth.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::ui {

using query::Lane;
using query::Track;

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent), dragging_(*this)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
    for (const auto change :
         {&TimelineView::selectionChanged, &TimelineView::spanChanged, &TimelineView::windowChanged})
        connect(this, change, this, &TimelineView::describe);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        painter_.reset();
        relayout();
        viewport()->update();
    });
}

void TimelineView::setSections(std::vector<TimelineSection> sections, bool keepWindow, Pairs pairs)
{
    scene_.sections = std::move(sections);
    scene_.pairs = std::move(pairs);
    scene_.selected.reset();
    scene_.span.reset();
    scene_.selectedRange.clear();
    scene_.found.reset();
    scene_.instances.reset();
    scene_.links.clear();
    scene_.launches.clear();
    scene_.path.reset();
    scene_.notes.clear();
    scene_.currentLane.reset();
    scene_.laneDropAt.reset();
    scene_.play.reset();
    dragging_.cancel();
    hovered_.reset();
    curveWords_.reset();
    painter_.reset();
    boxes_ = std::make_shared<int>();
    if (!keepWindow) {
        runs_ = std::make_shared<int>();
        history_.clear();
        scene_.window = fittingWindow(scene_.sections);
    }
    relayout();
    hoverAgain();
    emit selectionChanged();
    emit spanChanged();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::growSections(const std::vector<TimelineSection>& grown, Pairs pairs)
{
    growScene(scene_, grown);
    boxes_ = std::make_shared<int>();
    scene_.pairs = std::move(pairs);
    hovered_.reset();
    curveWords_.reset();
    painter_.forgetTimelines();
    relayout();
    hoverAgain();
    if (scene_.selected)
        emit selectionChanged();
    if (scene_.span)
        emit spanChanged();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::relayout()
{
    scene_.sizes = LaneSizes::forWindow(scene_.window.length() / std::max(1, width() - sizes().of(152)),
                                        scene_.sections, height());
    const int mostPinned = scene_.plot(width(), height()).height() / 2;
    scene_.layout = layOut(scene_.sections, scene_.sizes, mostPinned);
    // Runs that are played against each other are all in sight.
    const bool fits = fitsLanes_ || (scene_.play && scene_.sections.size() > 1);
    if (fits && scene_.layout.height > scene_.plot(width(), height()).height()) {
        scene_.sizes = LaneSizes::fitting(scene_.sections, height());
        scene_.layout = layOut(scene_.sections, scene_.sizes, mostPinned);
    }
    const int visible = scene_.plot(width(), height()).height();
    verticalScrollBar()->setRange(0, std::max(0, scene_.layout.height - visible));
    verticalScrollBar()->setPageStep(visible);
    verticalScrollBar()->setSingleStep(scene_.sizes.stream);
    scene_.scroll = verticalScrollBar()->value();
}

// The lane that keeps its position while heights change: the lane under the cursor, otherwise that of the
// keyboard; null if there is none, or it is pinned or not visible.
const Band* TimelineView::anchor() const
{
    const Band* band = isOver_ ? bandAt(cursor_) : nullptr;
    if (!isOver_ && scene_.currentLane)
        for (const Band& each : scene_.layout.bands)
            if (each.kind == Band::Kind::Lane && LanePlace{each.section, each.view} == *scene_.currentLane &&
                scene_.isSeen(each, scene_.plot(width(), height()).height()))
                band = &each;
    return band != nullptr && band->kind == Band::Kind::Lane && !band->isPinned ? band : nullptr;
}

// The heights of lanes may change with the zoom and with other lanes: one stays in place as far as the lanes scroll.
void TimelineView::relayoutUnderCursor()
{
    const Band* kept = anchor();
    if (kept == nullptr)
        return relayout();
    const Band before = *kept;
    const int at =
        isOver_ ? cursor_.y() - scene_.plot(width(), height()).top() : scene_.topOf(before); // in the plot
    const double share = double(at - scene_.topOf(before)) / std::max(1, before.height);
    relayout();
    for (const Band& now : scene_.layout.bands)
        if (now.kind == Band::Kind::Lane && now.section == before.section && now.view == before.view &&
            !now.isPinned)
            verticalScrollBar()->setValue(now.top + int(share * now.height) - at);
}

TimelineScene TimelineView::wholeScene() const
{
    TimelineScene whole = scene_;
    whole.scroll = 0;
    whole.currentLane.reset();
    whole.laneDropAt.reset();
    return whole;
}

QSize TimelineView::wholeSize() const
{
    return {width(), std::max(height(), scene_.sizes.overview + scene_.sizes.ruler + scene_.layout.height)};
}

void TimelineView::setWindow(const TimeWindow& window, bool remember)
{
    const TimeWindow next = window.within(wholeWindow(scene_.sections), kShortestWindow);
    if (next == scene_.window)
        return;
    const TimeWindow before = std::exchange(scene_.window, next);
    if (remember) {
        history_.add(before);
        noteWindow(before);
    }
    relayoutUnderCursor();
    hoverAgain();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::rememberWindow(const TimeWindow& window)
{
    history_.endBurst();
    history_.add(window);
    history_.endBurst();
    noteWindow(window);
    emit windowChanged();
}

// Undone in the window, whatever page is shown; back() and forward() go through the zooms alone.
void TimelineView::noteWindow(const TimeWindow& before)
{
    const auto show = [this](const TimeWindow& window) {
        return [this, window] { setWindow(window, false); };
    };
    ViewHistory::note(*this, {.name = tr("zoom"),
                              .undo = show(before),
                              .redo = show(scene_.window),
                              .of = runs_,
                              .series = QStringLiteral("zoom")});
}

void TimelineView::rememberSelection(std::optional<SectionItem> selected, std::optional<TimeWindow> span)
{
    if (selected == scene_.selected && span == scene_.span)
        return;
    const auto choose = [this](const std::optional<SectionItem>& item, const std::optional<TimeWindow>& to) {
        return [this, item, to] {
            setSpan(to);
            select(item);
        };
    };
    ViewHistory::note(*this, {.name = tr("selection"),
                              .undo = choose(selected, span),
                              .redo = choose(scene_.selected, scene_.span),
                              .of = boxes_,
                              .series = QStringLiteral("selection")});
}

void TimelineView::fit()
{
    history_.endBurst();
    setWindow(fittingWindow(scene_.sections));
}

std::optional<TimeWindow> TimelineView::selectedWindow() const
{
    if (!scene_.selected)
        return {};
    const TimelineSection& section = scene_.sections[scene_.selected->section];
    const query::TimelineItem& item = scene_.selected->item;
    const Track& row = section.timeline->lanes[item.lane].rows[item.row];
    return TimeWindow{section.toAxis(double(row.start(item.index))),
                      section.toAxis(double(row.end(item.index)))};
}

void TimelineView::measureSelection()
{
    if (const std::optional<TimeWindow> window = selectedWindow())
        setSpan(window);
}

void TimelineView::setFound(std::shared_ptr<const BoxSet> found)
{
    scene_.found = std::move(found);
    viewport()->update();
}

void TimelineView::setInstances(std::shared_ptr<const BoxSet> instances)
{
    scene_.instances = std::move(instances);
    viewport()->update();
}

void TimelineView::setLinks(std::vector<SceneLink> links)
{
    scene_.links = std::move(links);
    viewport()->update();
}

void TimelineView::setLaunches(std::vector<SceneLink> launches)
{
    if (scene_.launches == launches)
        return;
    scene_.launches = std::move(launches);
    viewport()->update();
}

void TimelineView::setNotes(std::vector<SceneNote> notes)
{
    scene_.notes = std::move(notes);
    viewport()->update();
}

void TimelineView::setPath(std::shared_ptr<const ScenePath> path)
{
    scene_.path = std::move(path);
    viewport()->update();
}

void TimelineView::setPlay(std::optional<PlayMoment> moment)
{
    const bool turns = scene_.play.has_value() != moment.has_value();
    scene_.play = std::move(moment);
    if (turns && scene_.sections.size() > 1)
        relayout();
    hoverAgain();
    viewport()->update();
}

void TimelineView::setSelectedRange(std::vector<std::optional<TimeWindow>> ranges)
{
    scene_.selectedRange = std::move(ranges);
    viewport()->update();
}

void TimelineView::zoomToSelection()
{
    history_.endBurst();
    if (scene_.span) {
        setWindow(scene_.span->zoomed(1.1, (scene_.span->from + scene_.span->to) / 2));
    } else if (const std::optional<TimeWindow> window = selectedWindow()) {
        const double margin = std::max(window->length() * 0.15, kShortestWindow / 2);
        setWindow({window->from - margin, window->to + margin});
    }
}

void TimelineView::back()
{
    if (const auto window = history_.back(scene_.window))
        setWindow(*window, false);
}

void TimelineView::forward()
{
    if (const auto window = history_.forward(scene_.window))
        setWindow(*window, false);
}

void TimelineView::select(std::optional<SectionItem> item)
{
    if (scene_.selected == item)
        return;
    const std::optional<SectionItem> before = std::exchange(scene_.selected, item);
    rememberSelection(before, scene_.span);
    scene_.links.clear();
    scene_.instances.reset();
    scene_.selectedRange.clear();
    emit selectionChanged();
    viewport()->update();
}

void TimelineView::setSpan(std::optional<TimeWindow> span)
{
    if (scene_.span == span)
        return;
    const std::optional<TimeWindow> before = std::exchange(scene_.span, span);
    if (!dragging_.isOn()) // the drag remembers it when it ends
        rememberSelection(scene_.selected, before);
    emit spanChanged();
    viewport()->update();
}

void TimelineView::reveal(const SectionItem& item)
{
    const TimelineSection& section = scene_.sections[item.section];
    for (std::size_t v = 0; v < section.lanes.size(); ++v)
        if (section.lanes[v].lane == item.item.lane && section.lanes[v].hidden)
            setHidden({item.section, v}, false);
        else if (section.lanes[v].lane == item.item.lane && section.lanes[v].folded &&
                 section.timeline->lanes[item.item.lane].kind == Lane::Kind::Frames)
            setFolded({item.section, v}, false);
    const Track& row = section.timeline->lanes[item.item.lane].rows[item.item.row];
    const double from = section.toAxis(double(row.start(item.item.index)));
    const double to = section.toAxis(double(row.end(item.item.index)));
    if (from < scene_.window.from || to > scene_.window.to) {
        const double length = std::max(scene_.window.length(), (to - from) * 1.3);
        const double centre = (from + to) / 2;
        history_.endBurst();
        setWindow({centre - length / 2, centre + length / 2});
    }
    const QRect rect = scene_.rectOf(item, width(), height());
    const QRect plot = scene_.plot(width(), height());
    const Band* band = scene_.bandOf(item);
    const int covered = band != nullptr && !band->isPinned ? scene_.layout.coveredHeight() : 0;
    if (rect.top() < plot.top() + covered || rect.bottom() > plot.bottom())
        verticalScrollBar()->setValue(scene_.scroll + rect.center().y() - plot.center().y());
}

// Painting and hovering
// -----------------------------------------------------------------------------------------

void TimelineView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    painter_.paint(painter, scene_, width(), height(), VectorDrawing::isOn());
    if (!dragging_.isOn() && hovered_)
        paintHoverCard(painter, scene_, *hovered_, cursor_, viewport()->size());
    else if (!dragging_.isOn() && curveWords_)
        paintCard(painter, *curveWords_, cursor_, viewport()->size());
}

void TimelineView::resizeEvent(QResizeEvent*)
{
    relayoutUnderCursor();
}

void TimelineView::scrollContentsBy(int, int)
{
    scene_.scroll = verticalScrollBar()->value();
    hoverAgain();
    viewport()->update();
}

QString TimelineView::hoverText() const
{
    if (!hovered_)
        return {};
    const ItemWords words = wordsOf(scene_, *hovered_);
    return words.second.isEmpty() ? words.first : words.first + QLatin1Char('\n') + words.second;
}

// For screen readers: the selection with its lane, which tells the rank, and the visible part of the time.
void TimelineView::describe()
{
    QStringList words;
    if (scene_.selected) {
        const query::Timeline& timeline = *scene_.sections[scene_.selected->section].timeline;
        words << tr("%1, %2").arg(wordsOf(scene_, *scene_.selected).first,
                                  QString::fromStdString(timeline.lanes[scene_.selected->item.lane].title));
    }
    if (scene_.span)
        words << tr("span of %1").arg(timeText(scene_.span->length()));
    if (scene_.currentLane) {
        const TimelineSection& section = scene_.sections[scene_.currentLane->section];
        const LaneView& lane = section.lanes[scene_.currentLane->view];
        words << tr("lane %1").arg(QString::fromStdString(section.timeline->lanes[lane.lane].title));
        if (lane.pinned)
            words << tr("pinned");
        if (lane.folded)
            words << tr("folded");
    }
    words << (scene_.sections.empty()
                  ? tr("nothing to show")
                  : tr("%1 shown, from %2 on")
                        .arg(timeText(scene_.window.length()), timeText(scene_.window.from)));
    setAccessibleDescription(words.join(QStringLiteral("; ")));
}

// The box under a resting cursor changes with the window, the lanes and the scroll bar.
void TimelineView::hoverAgain()
{
    if (isOver_ && !dragging_.isOn())
        hover(cursor_);
}

void TimelineView::leave()
{
    isOver_ = false;
    hovered_.reset();
    curveWords_.reset();
    emit cursorMoved({});
    viewport()->update();
}

void TimelineView::hover(QPoint at)
{
    cursor_ = at;
    isOver_ = viewport()->rect().contains(at);
    const auto item = scene_.itemAt(at, width(), height());
    auto curveWords = curveWordsAt(scene_, at, viewport()->size());
    const bool moved = item || hovered_ || curveWords || curveWords_;
    hovered_ = item;
    curveWords_ = std::move(curveWords);
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
        where += curveWords_ ? curveWords_->first : QString::fromStdString(lane.title);
        if (hovered_)
            where += QStringLiteral(", ") + wordsOf(scene_, *hovered_).first;
    }
    emit cursorMoved(timeText(axis) + QStringLiteral("  ") + where);
}

QStringList TimelineView::causesAt(QPoint at) const
{
    const Band* band = bandAt(at);
    // The band is above the run that it compares with the one before.
    if (band == nullptr || band->kind != Band::Kind::Difference || band->section > causes_.size() ||
        causes_[band->section - 1].isEmpty())
        return {};
    return QStringList{tr("Largest changes of the mean traced step:")} + causes_[band->section - 1];
}

bool TimelineView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const QPoint at = static_cast<QHelpEvent*>(event)->pos();
        if (const QStringList causes = causesAt(at); !causes.isEmpty()) {
            QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tipOfLines(causes), viewport());
            return true;
        }
        QString tip;
        if (const auto id = scene_.noteAt(at, width())) {
            for (const SceneNote& note : scene_.notes)
                if (note.id == *id)
                    tip = note.text.isEmpty() ? tr("Bookmark") : note.text;
        } else if (const Band* band = bandAt(at); band == nullptr || at.x() >= scene_.sizes.label) {
            tip.clear();
        } else if (band->kind == Band::Kind::Counters) {
            tip = tr("Click to show or hide the counters of all runs.");
        } else if (band->kind == Band::Kind::Lane) {
            tip = tr("Click to fold the lane (C), drag to move it (Ctrl+Shift+Up, Ctrl+Shift+Down), drag its "
                     "lower edge to resize it (Ctrl++, Ctrl+-). Right click for more.");
        }
        // Notes are untrusted text and never interpreted as markup.
        tip.isEmpty() ? QToolTip::hideText()
                      : QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tip.toHtmlEscaped(),
                                           viewport());
        return true;
    }
    if (event->type() == QEvent::Leave)
        leave();
    return QAbstractScrollArea::viewportEvent(event);
}

// Targets of commands
// -----------------------------------------------------------------------------------------

double TimelineView::commandAxis() const
{
    if (cursor_.x() >= scene_.sizes.label && viewport()->rect().contains(cursor_))
        return scene_.axisAt(cursor_.x(), width());
    if (const std::optional<TimeWindow> window = selectedWindow())
        return window->from;
    return (scene_.window.from + scene_.window.to) / 2;
}

std::size_t TimelineView::commandSection() const
{
    if (const Band* band = bandAt(cursor_))
        return band->section;
    return scene_.selected ? scene_.selected->section : scene_.currentLane ? scene_.currentLane->section : 0;
}

QPoint TimelineView::commandPoint() const
{
    if (scene_.currentLane)
        for (const Band& band : scene_.layout.bands)
            if (band.kind == Band::Kind::Lane && LanePlace{band.section, band.view} == *scene_.currentLane)
                return {scene_.sizes.label / 2,
                        scene_.plot(width(), height()).top() + scene_.topOf(band) + band.height / 2};
    if (scene_.selected)
        if (const QRect rect = scene_.rectOf(*scene_.selected, width(), height());
            rect.intersects(scene_.plot(width(), height())))
            return rect.intersected(scene_.plot(width(), height())).center();
    return viewport()->rect().contains(cursor_) ? cursor_ : viewport()->rect().center();
}

// Mouse
// ----------------------------------------------------------------------------------------------------------

void TimelineView::zoom(double factor, double x)
{
    setWindow(scene_.window.zoomed(factor, scene_.axisAt(x, width())));
}

void TimelineView::wheelEvent(QWheelEvent* event)
{
    const double turns =
        event->angleDelta().y() != 0 ? event->angleDelta().y() / 120.0 : event->angleDelta().x() / 120.0;
    if (event->modifiers() & Qt::ControlModifier)
        zoom(std::pow(0.8, turns), event->position().x());
    else if ((event->modifiers() & Qt::ShiftModifier) || event->angleDelta().y() == 0)
        setWindow(scene_.window.panned(-turns * scene_.window.length() * 0.1));
    else
        verticalScrollBar()->setValue(verticalScrollBar()->value() - int(turns * 3 * scene_.sizes.op));
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event)
{
    dragging_.press(*event);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event)
{
    if (!dragging_.isOn())
        hover(event->pos());
    dragging_.move(event->pos());
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event)
{
    dragging_.release(event->pos());
    hover(event->pos());
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const auto item = scene_.itemAt(event->pos(), width(), height())) {
        select(item);
        zoomToSelection();
    }
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event)
{
    if (scene_.sections.empty())
        return;
    if (event->reason() == QContextMenuEvent::Keyboard) {
        emit menuWanted(commandPoint(), scene_.currentLane.has_value());
        return;
    }
    const QPoint at = event->pos();
    const Band* band = bandAt(at);
    const bool onLane = at.x() < scene_.sizes.label && band != nullptr && band->kind == Band::Kind::Lane;
    if (onLane)
        setCurrentLane(LanePlace{band->section, band->view});
    else if (const auto item = scene_.itemAt(at, width(), height()))
        select(item);
    cursor_ = at;
    emit menuWanted(at, onLane);
}

// Commands
// -----------------------------------------------------------------------------------------

void TimelineView::zoomBy(double factor)
{
    zoom(factor, cursor_.x() >= scene_.sizes.label ? cursor_.x() : (width() + scene_.sizes.label) / 2.0);
}

void TimelineView::pan(double share)
{
    setWindow(scene_.window.panned(share * scene_.window.length()));
}

void TimelineView::scrollLanes(int by)
{
    verticalScrollBar()->triggerAction(by < 0 ? QScrollBar::SliderSingleStepSub
                                              : QScrollBar::SliderSingleStepAdd);
}

void TimelineView::clearSelection()
{
    setSpan({});
    select({});
    setCurrentLane({});
}

} // namespace tilescope::ui
