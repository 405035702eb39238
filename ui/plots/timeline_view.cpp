#include "ui/plots/timeline_view.h"

#include "ui/plots/number_text.h"
#include "ui/plots/timeline_growth.h"
#include "ui/plots/vector_drawing.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

constexpr double kShortestWindow = 50; // nanoseconds: a clock's own grain
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

void TimelineView::setSections(std::vector<TimelineSection> sections, bool keepWindow)
{
    scene_.sections = std::move(sections);
    scene_.selected.reset();
    scene_.span.reset();
    scene_.found.clear();
    hovered_.reset();
    painter_.reset();
    if (!keepWindow) {
        past_.clear();
        future_.clear();
        scene_.window = fittingWindow(scene_.sections);
    }
    relayout();
    emit selectionChanged();
    emit spanChanged();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::growSections(const std::vector<std::shared_ptr<const query::Timeline>>& timelines)
{
    growScene(scene_, timelines);
    hovered_.reset();
    painter_.reset();
    relayout();
    if (scene_.selected)
        emit selectionChanged();
    if (scene_.span)
        emit spanChanged();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::relayout()
{
    scene_.sizes = LaneSizes::forWindow(scene_.window.length() / std::max(1, width() - sizes().of(152)));
    scene_.layout = layOut(scene_.sections, scene_.sizes);
    const int visible = scene_.plot(width(), height()).height();
    verticalScrollBar()->setRange(0, std::max(0, scene_.layout.height - visible));
    verticalScrollBar()->setPageStep(visible);
    verticalScrollBar()->setSingleStep(scene_.sizes.stream);
    scene_.scroll = verticalScrollBar()->value();
}

void TimelineView::setWindow(const TimeWindow& window, bool remember)
{
    const TimeWindow next = window.within(wholeWindow(scene_.sections), kShortestWindow);
    if (next == scene_.window)
        return;
    if (remember) {
        // A burst of wheel turns is one step of history.
        if (past_.empty() || past_.back() != scene_.window)
            past_.push_back(scene_.window);
        if (past_.size() > kHistory)
            past_.erase(past_.begin());
        future_.clear();
    }
    scene_.window = next;
    relayout();
    emit windowChanged();
    viewport()->update();
}

void TimelineView::fit()
{
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

void TimelineView::setFound(std::vector<SectionItem> found)
{
    scene_.found = std::move(found);
    viewport()->update();
}

void TimelineView::zoomToSelection()
{
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
    setWindow(window, false);
}

void TimelineView::forward()
{
    if (future_.empty())
        return;
    past_.push_back(scene_.window);
    const TimeWindow window = future_.back();
    future_.pop_back();
    setWindow(window, false);
}

void TimelineView::select(std::optional<SectionItem> item)
{
    if (scene_.selected == item)
        return;
    scene_.selected = item;
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

void TimelineView::setFolded(std::size_t section, std::size_t view, bool folded)
{
    scene_.sections.at(section).lanes.at(view).folded = folded;
    relayout();
    viewport()->update();
}

void TimelineView::reveal(const SectionItem& item)
{
    const TimelineSection& section = scene_.sections[item.section];
    const Track& row = section.timeline->lanes[item.item.lane].rows[item.item.row];
    const double from = section.toAxis(double(row.start(item.item.index)));
    const double to = section.toAxis(double(row.end(item.item.index)));
    if (from < scene_.window.from || to > scene_.window.to) {
        const double length = std::max(scene_.window.length(), (to - from) * 1.3);
        const double centre = (from + to) / 2;
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
    else if (lane.kind == Lane::Kind::Busy)
        second =
            row.hue(item.item.index) == query::Hue::Busy ? tr("the device works") : tr("the device waits");
    return QString::fromStdString(name.label) + QStringLiteral("  ") + length;
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

void TimelineView::resizeEvent(QResizeEvent*)
{
    relayout();
}

void TimelineView::scrollContentsBy(int, int)
{
    scene_.scroll = verticalScrollBar()->value();
    viewport()->update();
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

double TimelineView::overviewAxisAt(double x) const
{
    const TimeWindow whole = wholeWindow(scene_.sections);
    const double plotWidth = std::max(1, width() - scene_.sizes.label - sizes().of(8));
    return whole.from + (x - scene_.sizes.label) / plotWidth * whole.length();
}

void TimelineView::pressOnOverview(QPoint at)
{
    const TimeWindow whole = wholeWindow(scene_.sections);
    const double grip = whole.length() / std::max(1, width() - scene_.sizes.label) * 6;
    const double axis = overviewAxisAt(at.x());
    if (std::abs(axis - scene_.window.from) < grip)
        drag_ = Drag::OverviewLeft;
    else if (std::abs(axis - scene_.window.to) < grip)
        drag_ = Drag::OverviewRight;
    else
        drag_ = Drag::OverviewMove;
    if (drag_ == Drag::OverviewMove && (axis < scene_.window.from || axis > scene_.window.to)) {
        setWindow(scene_.window.panned(axis - (scene_.window.from + scene_.window.to) / 2));
        pressedWindow_ = scene_.window;
    }
}

void TimelineView::pressOnLabel(QPoint at)
{
    const Band* band = scene_.layout.at(at.y() - scene_.plot(width(), height()).top() + scene_.scroll);
    if (band != nullptr && band->kind == Band::Kind::Lane)
        setFolded(band->section, band->view, !scene_.sections[band->section].lanes[band->view].folded);
}

void TimelineView::mousePressEvent(QMouseEvent* event)
{
    if (scene_.sections.empty())
        return;
    const QPoint at = event->pos();
    pressedAt_ = at;
    pressedWindow_ = scene_.window;
    if (event->button() == Qt::MiddleButton) {
        drag_ = Drag::Pan;
        viewport()->setCursor(Qt::ClosedHandCursor);
    } else if (event->button() == Qt::LeftButton) {
        if (scene_.overview(width()).contains(at))
            pressOnOverview(at);
        else if (at.x() < scene_.sizes.label)
            pressOnLabel(at);
        else
            drag_ = Drag::Span;
    }
    viewport()->update();
}

void TimelineView::dragOverview(QPoint at)
{
    const double axis = overviewAxisAt(at.x());
    TimeWindow window = pressedWindow_;
    if (drag_ == Drag::OverviewMove)
        window = window.panned(axis - overviewAxisAt(pressedAt_.x()));
    else if (drag_ == Drag::OverviewLeft)
        window.from = std::min(axis, window.to - kShortestWindow);
    else
        window.to = std::max(axis, window.from + kShortestWindow);
    setWindow(window, false);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint at = event->pos();
    switch (drag_) {
    case Drag::None:
        hover(at);
        return;
    case Drag::Pan:
        setWindow(pressedWindow_.panned((pressedAt_.x() - at.x()) * scene_.perPixel(width())), false);
        return;
    case Drag::Span:
        if (std::abs(at.x() - pressedAt_.x()) >= QApplication::startDragDistance() / 2) {
            const double a = scene_.axisAt(pressedAt_.x(), width());
            const double b = scene_.axisAt(at.x(), width());
            setSpan(TimeWindow{std::min(a, b), std::max(a, b)});
        }
        return;
    case Drag::OverviewMove:
    case Drag::OverviewLeft:
    case Drag::OverviewRight:
        dragOverview(at);
        return;
    }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event)
{
    const bool clicked = drag_ == Drag::Span && (event->pos() - pressedAt_).manhattanLength() <
                                                    QApplication::startDragDistance() / 2;
    if (drag_ != Drag::None && drag_ != Drag::Span && pressedWindow_ != scene_.window) {
        past_.push_back(pressedWindow_);
        future_.clear();
        emit windowChanged();
    }
    drag_ = Drag::None;
    viewport()->unsetCursor();
    if (clicked) {
        setSpan({});
        select(scene_.itemAt(event->pos(), width(), height()));
    }
    hover(event->pos());
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const auto item = scene_.itemAt(event->pos(), width(), height())) {
        select(item);
        zoomToSelection();
    }
}

void TimelineView::hover(QPoint at)
{
    cursor_ = at;
    const auto item = scene_.itemAt(at, width(), height());
    const bool moved = item || hovered_;
    hovered_ = item;
    if (moved)
        viewport()->update();
    if (scene_.sections.empty() || at.x() < scene_.sizes.label || at.y() < 0) {
        emit cursorMoved({});
        return;
    }
    const double axis = scene_.axisAt(at.x(), width());
    const Band* band = scene_.layout.at(at.y() - scene_.plot(width(), height()).top() + scene_.scroll);
    QString where;
    if (band != nullptr && band->kind == Band::Kind::Lane && at.y() >= scene_.plot(width(), height()).top()) {
        const TimelineSection& section = scene_.sections[band->section];
        const Lane& lane = section.timeline->lanes[section.lanes[band->view].lane];
        where = section.letter.isEmpty() ? QString() : section.letter + QStringLiteral(", ");
        where += QString::fromStdString(lane.title);
    }
    emit cursorMoved(timeText(axis) + QStringLiteral("  ") + where);
}

bool TimelineView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave && hovered_) {
        hovered_.reset();
        emit cursorMoved({});
        viewport()->update();
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineView::keyPressEvent(QKeyEvent* event)
{
    const double centre =
        cursor_.x() >= scene_.sizes.label ? cursor_.x() : (width() + scene_.sizes.label) / 2.0;
    const double shift = scene_.window.length() * 0.15;
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
        zoom(0.7, centre);
        break;
    case Qt::Key_S:
    case Qt::Key_Minus:
        zoom(1 / 0.7, centre);
        break;
    case Qt::Key_A:
    case Qt::Key_Left:
        setWindow(scene_.window.panned(-shift));
        break;
    case Qt::Key_D:
    case Qt::Key_Right:
        setWindow(scene_.window.panned(shift));
        break;
    case Qt::Key_Up:
    case Qt::Key_Down:
        verticalScrollBar()->triggerAction(event->key() == Qt::Key_Up ? QScrollBar::SliderSingleStepSub
                                                                      : QScrollBar::SliderSingleStepAdd);
        break;
    case Qt::Key_F:
        fit();
        break;
    case Qt::Key_Z:
        zoomToSelection();
        break;
    case Qt::Key_M:
        measureSelection();
        break;
    case Qt::Key_Escape:
        setSpan({});
        select({});
        break;
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

} // namespace tilescope::ui
