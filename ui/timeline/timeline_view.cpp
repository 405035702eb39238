#include "ui/timeline/timeline_view.h"

#include "ui/kit/number_text.h"
#include "ui/kit/vector_drawing.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_growth.h"

#include <QPainter>
#include <QScrollBar>

#include <algorithm>

namespace tilescope::ui {

using query::Track;

namespace {

constexpr std::size_t kHistory = 100;

} // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
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
    scene_.notes.clear();
    scene_.currentLane.reset();
    scene_.laneDropAt.reset();
    drag_ = Drag::None;
    hovered_.reset();
    painter_.reset();
    if (!keepWindow) {
        past_.clear();
        future_.clear();
        scene_.window = fittingWindow(scene_.sections);
    }
    relayout();
    hoverAgain();
    emit selectionChanged();
    emit spanChanged();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::growSections(const std::vector<std::shared_ptr<const query::Timeline>>& timelines,
                                Pairs pairs)
{
    growScene(scene_, timelines);
    scene_.pairs = std::move(pairs);
    hovered_.reset();
    painter_.reset();
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
    scene_.layout = layOut(scene_.sections, scene_.sizes);
    if (fitsLanes_ && scene_.layout.height > scene_.plot(width(), height()).height()) {
        scene_.sizes = LaneSizes::fitting(scene_.sections, height());
        scene_.layout = layOut(scene_.sections, scene_.sizes);
    }
    const int visible = scene_.plot(width(), height()).height();
    verticalScrollBar()->setRange(0, std::max(0, scene_.layout.height - visible));
    verticalScrollBar()->setPageStep(visible);
    verticalScrollBar()->setSingleStep(scene_.sizes.stream);
    scene_.scroll = verticalScrollBar()->value();
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
    if (remember)
        this->remember();
    scene_.window = next;
    relayout();
    hoverAgain();
    emit windowChanged();
    viewport()->update();
}

// Puts the window into the history. A burst of wheel turns or of a held key is one step of it.
void TimelineView::remember()
{
    const bool burst = sinceMove_.isValid() && sinceMove_.elapsed() < burst_.count() && !past_.empty();
    sinceMove_.start();
    future_.clear();
    if (burst)
        return;
    past_.push_back(scene_.window);
    if (past_.size() > kHistory)
        past_.erase(past_.begin());
}

void TimelineView::fit()
{
    sinceMove_.invalidate(); // a step of its own
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

void TimelineView::setSelectedRange(std::vector<std::optional<TimeWindow>> ranges)
{
    scene_.selectedRange = std::move(ranges);
    viewport()->update();
}

void TimelineView::zoomToSelection()
{
    sinceMove_.invalidate();
    if (scene_.span) {
        setWindow(scene_.span->zoomed(1.1, (scene_.span->from + scene_.span->to) / 2));
    } else if (const std::optional<TimeWindow> window = selectedWindow()) {
        const double margin = std::max(window->length() * 0.15, kShortestWindow / 2);
        setWindow({window->from - margin, window->to + margin});
    }
}

void TimelineView::back()
{
    if (past_.empty())
        return;
    future_.push_back(scene_.window);
    const TimeWindow window = past_.back();
    past_.pop_back();
    sinceMove_.invalidate();
    setWindow(window, false);
}

void TimelineView::forward()
{
    if (future_.empty())
        return;
    past_.push_back(scene_.window);
    const TimeWindow window = future_.back();
    future_.pop_back();
    sinceMove_.invalidate();
    setWindow(window, false);
}

void TimelineView::select(std::optional<SectionItem> item)
{
    if (scene_.selected == item)
        return;
    scene_.selected = item;
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
    scene_.span = span;
    emit spanChanged();
    viewport()->update();
}

void TimelineView::reveal(const SectionItem& item)
{
    const TimelineSection& section = scene_.sections[item.section];
    for (std::size_t v = 0; v < section.lanes.size(); ++v)
        if (section.lanes[v].lane == item.item.lane && section.lanes[v].hidden)
            setHidden({item.section, v}, false);
    const Track& row = section.timeline->lanes[item.item.lane].rows[item.item.row];
    const double from = section.toAxis(double(row.start(item.item.index)));
    const double to = section.toAxis(double(row.end(item.item.index)));
    if (from < scene_.window.from || to > scene_.window.to) {
        const double length = std::max(scene_.window.length(), (to - from) * 1.3);
        const double centre = (from + to) / 2;
        sinceMove_.invalidate();
        setWindow({centre - length / 2, centre + length / 2});
    }
    const QRect rect = scene_.rectOf(item, width(), height());
    const QRect plot = scene_.plot(width(), height());
    if (rect.top() < plot.top() || rect.bottom() > plot.bottom())
        verticalScrollBar()->setValue(scene_.scroll + rect.center().y() - plot.center().y());
}

// Painting
// -------------------------------------------------------------------------------------------------------

void TimelineView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    painter_.paint(painter, scene_, width(), height(), VectorDrawing::isOn());
    if (drag_ == Drag::None)
        paintHover(painter);
}

void TimelineView::resizeEvent(QResizeEvent*)
{
    relayout();
}

void TimelineView::scrollContentsBy(int, int)
{
    scene_.scroll = verticalScrollBar()->value();
    hoverAgain();
    viewport()->update();
}

} // namespace tilescope::ui
