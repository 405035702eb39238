#include "ui/ranks/rank_lanes_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/ranks/rank_lanes_painter.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kLegendHeight = 24;       // logical pixels
constexpr double kShortestWindow = 100; ///< ns that can be shown
constexpr double kZoomStep = 0.8;

} // namespace

RankLanesPlot::RankLanesPlot(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Lanes of the ranks"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
    makeKeys();
}

void RankLanesPlot::show(RankLanes lanes)
{
    const bool isSame = lanes.begin == lanes_.begin && lanes.length == lanes_.length;
    const std::optional<std::size_t> index =
        marked_ ? std::optional(lanes_.collectives[*marked_].index) : std::nullopt;
    lanes_ = std::move(lanes);
    marked_.reset();
    rank_ = lanes_.ranks.empty() ? 0 : std::min(rank_, lanes_.ranks.size() - 1);
    if (!isSame)
        fit();
    updateGeometry();
    mark(index);
}

void RankLanesPlot::setWork(std::shared_ptr<const query::Timeline> timeline)
{
    lanes_.setWork(std::move(timeline));
    update();
}

void RankLanesPlot::mark(std::optional<std::size_t> collective)
{
    const auto place = collective
                           ? std::ranges::find(lanes_.collectives, *collective, &RankLanes::Collective::index)
                           : lanes_.collectives.end();
    marked_ = place == lanes_.collectives.end()
                  ? std::nullopt
                  : std::optional(std::size_t(place - lanes_.collectives.begin()));
    describe();
    update();
}

void RankLanesPlot::fit()
{
    setWindow(whole());
}

void RankLanesPlot::setWindow(const TimeWindow& window)
{
    TimeWindow inside = window;
    const double length =
        std::clamp(inside.length(), std::min(kShortestWindow, whole().length()), whole().length());
    inside.from = std::clamp(inside.from, 0.0, whole().to - length);
    inside.to = inside.from + length;
    window_ = inside;
    update();
    emit windowChanged();
}

void RankLanesPlot::zoom(double factor, double fixed)
{
    setWindow(window_.zoomed(factor, fixed));
}

QSize RankLanesPlot::sizeHint() const
{
    return {sizes().of(640), int(std::ceil(frameOf(size()).bottom())) + sizes().of(kLegendHeight)};
}

QSize RankLanesPlot::minimumSizeHint() const
{
    return {sizes().of(200), sizeHint().height()};
}

RankLanesFrame RankLanesPlot::frameOf(const QSize& size) const
{
    RankLanesFrame frame;
    const QFontMetrics metrics(Theme::instance().bold());
    int label = QFontMetrics(Theme::instance().small()).horizontalAdvance(tr("collectives"));
    for (const RankLanes::Rank& rank : lanes_.ranks)
        label = std::max(label, metrics.horizontalAdvance(rank.title));
    frame.left = sizes().padding + std::min(label, size.width() / 4) + sizes().of(10);
    frame.right = std::max(frame.left + 1, double(size.width() - sizes().padding));
    frame.window = window_;
    frame.ranks = lanes_.ranks.size();
    return frame;
}

QRectF RankLanesPlot::partRect(std::size_t rank, const RankLanes::Part& part) const
{
    return frameOf(size()).part(rank, part);
}

std::vector<QPolygonF> RankLanesPlot::bandsOf(std::size_t collective) const
{
    return frameOf(size()).bands(lanes_, collective);
}

void RankLanesPlot::draw(QPainter& painter, const QSize& size) const
{
    RankLanesPainter(lanes_, frameOf(size), marked_, hasFocus() ? std::optional(rank_) : std::nullopt)
        .draw(painter);
}

void RankLanesPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
}

std::optional<RankLanesPlot::Place> RankLanesPlot::partAt(const QPointF& at) const
{
    const RankLanesFrame frame = frameOf(size());
    constexpr double kNear = 3;
    for (std::size_t rank = 0; rank < frame.ranks; ++rank) {
        if (!frame.parts(rank).contains(at))
            continue;
        std::optional<Place> nearest;
        double least = kNear;
        for (const RankLanes::Part& part : lanes_.ranks[rank].parts) {
            const QRectF box = frame.part(rank, part);
            const double away = std::max({0.0, box.left() - at.x(), at.x() - box.right()});
            if (away <= least) { // the last one is drawn on top
                least = away;
                nearest = Place{rank, &part};
            }
        }
        if (!nearest && marked_ && lanes_.collectives[*marked_].last == lanes_.ranks[rank].title) {
            // The arrow of lateness belongs to the part at which it ends.
            const RankLanes::Collective& collective = lanes_.collectives[*marked_];
            const double time = frame.timeAt(at.x());
            if (const RankLanes::Part* part = lanes_.partOf(rank, *marked_);
                part != nullptr && time >= collective.first &&
                time <= collective.first + collective.afterFirst)
                nearest = Place{rank, part};
        }
        return nearest;
    }
    return {};
}

std::optional<RankLanesPlot::Work> RankLanesPlot::workAt(const QPointF& at) const
{
    if (!lanes_.timeline)
        return {};
    const RankLanesFrame frame = frameOf(size());
    const double slack = 2 * frame.window.length() / std::max(1.0, frame.right - frame.left);
    const double time = double((lanes_.begin - lanes_.timeline->origin).count()) + frame.timeAt(at.x());
    for (std::size_t rank = 0; rank < frame.ranks; ++rank) {
        if (!frame.work(rank).contains(at))
            continue;
        // The busiest is drawn last, so it is the one that is seen.
        for (auto rows = lanes_.ranks[rank].work.rbegin(); rows != lanes_.ranks[rank].work.rend(); ++rows) {
            const query::Lane& lane = lanes_.timeline->lanes[rows->lane];
            for (const std::size_t row : rows->rows)
                if (const auto item =
                        lanes_.timeline->hit(lane.rows[row], std::int64_t(time), std::int64_t(slack)))
                    return Work{&lane, &lane.rows[row], *item};
        }
    }
    return {};
}

QString RankLanesPlot::wordsAt(const QPointF& at) const
{
    if (const auto place = partAt(at))
        return lanes_.words(place->rank, *place->part);
    if (const auto work = workAt(at))
        return QStringLiteral("%1, %2").arg(
            QString::fromStdString(lanes_.timeline->names[work->track->name(work->item)].label),
            timeText(double(work->track->length(work->item))));
    return {};
}

void RankLanesPlot::describe()
{
    if (lanes_.isEmpty() || !marked_)
        return setAccessibleDescription(
            lanes_.isEmpty() ? tr("no rank")
                             : tr("%1, %2, %3")
                                   .arg(counted(std::int64_t(lanes_.ranks.size()), "rank"),
                                        counted(std::int64_t(lanes_.collectives.size()), "collective"),
                                        timeText(lanes_.length)));
    const RankLanes::Part* part = lanes_.partOf(rank_, *marked_);
    setAccessibleDescription(
        part != nullptr
            ? lanes_.words(rank_, *part)
            : tr("%1: not recorded on %2").arg(lanes_.collectives[*marked_].name, lanes_.ranks[rank_].title));
}

void RankLanesPlot::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return QWidget::mousePressEvent(event);
    pressed_ = event->position();
    pressedFrom_ = window_.from;
    isDragged_ = false;
}

void RankLanesPlot::mouseMoveEvent(QMouseEvent* event)
{
    if (pressed_ && (event->buttons() & Qt::LeftButton) != 0) {
        const double by = event->position().x() - pressed_->x();
        isDragged_ = isDragged_ || std::abs(by) >= QApplication::startDragDistance();
        if (isDragged_) {
            const RankLanesFrame frame = frameOf(size());
            const double from = pressedFrom_ - by / (frame.right - frame.left) * window_.length();
            setWindow({from, from + window_.length()});
        }
        return;
    }
    setCursor(partAt(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
    emit cursorText(wordsAt(event->position()));
}

void RankLanesPlot::mouseReleaseEvent(QMouseEvent* event)
{
    const bool isClick = pressed_ && !isDragged_ && event->button() == Qt::LeftButton;
    pressed_.reset();
    const auto place = isClick ? partAt(event->position()) : std::nullopt;
    if (!place)
        return;
    rank_ = place->rank;
    const std::size_t index = lanes_.collectives[place->part->collective].index;
    mark(index);
    emit marked(index);
}

void RankLanesPlot::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    if (const auto place = partAt(event->position()))
        emit eventWanted(place->part->device, place->part->stream, place->part->at);
    else if (const auto work = workAt(event->position()); work && work->isOnStream())
        emit eventWanted(work->lane->device, work->lane->stream,
                         lanes_.timeline->origin + Nanoseconds{work->track->start(work->item)});
}

void RankLanesPlot::wheelEvent(QWheelEvent* event)
{
    if ((event->modifiers() & Qt::ControlModifier) == 0 || lanes_.isEmpty())
        return event->ignore(); // the page scrolls
    constexpr double kTurn = 120;
    zoom(std::pow(kZoomStep, event->angleDelta().y() / kTurn), frameOf(size()).timeAt(event->position().x()));
    event->accept();
}

void RankLanesPlot::leaveEvent(QEvent*)
{
    emit cursorText({});
}

// Moves the mark to another collective or another rank.
void RankLanesPlot::move(int collectives, int ranks)
{
    const auto to = [](std::size_t from, int by, std::size_t count) {
        return std::size_t(
            std::clamp<std::ptrdiff_t>(std::ptrdiff_t(from) + by, 0, std::ptrdiff_t(count) - 1));
    };
    rank_ = to(rank_, ranks, lanes_.ranks.size());
    if (lanes_.collectives.empty())
        return;
    const std::size_t collective = marked_ ? to(*marked_, collectives, lanes_.collectives.size()) : 0;
    const RankLanes::Collective& now = lanes_.collectives[collective];
    if (now.first < window_.from || now.first + now.afterFirst > window_.to) {
        const double from = now.first - window_.length() / 4;
        setWindow({from, from + window_.length()});
    }
    mark(now.index);
    if (const RankLanes::Part* part = lanes_.partOf(rank_, collective))
        emit cursorText(lanes_.words(rank_, *part));
    emit marked(now.index);
}

void RankLanesPlot::makeKeys()
{
    // Around the marked collective if it is in sight.
    const auto zoomBy = [this](double factor) {
        const double centre = (window_.from + window_.to) / 2;
        const double mark = marked_ ? lanes_.collectives[*marked_].first : centre;
        zoom(factor, mark >= window_.from && mark <= window_.to ? mark : centre);
    };
    const auto pan = [this](double part) { setWindow(window_.panned(part * window_.length())); };
    constexpr double kPart = 0.125;
    addKey(*this, tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [=] { zoomBy(kZoomStep); });
    addKey(*this, tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [=] { zoomBy(1 / kZoomStep); });
    addKey(*this, tr("Move left"), {Qt::Key_A}, [=] { pan(-kPart); });
    addKey(*this, tr("Move right"), {Qt::Key_D}, [=] { pan(kPart); });
    addKey(*this, tr("Show everything"), {Qt::Key_F}, [this] { fit(); });
}

void RankLanesPlot::keyPressEvent(QKeyEvent* event)
{
    if (lanes_.isEmpty())
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Left:
        return move(-1, 0);
    case Qt::Key_Right:
        return move(1, 0);
    case Qt::Key_Up:
        return move(0, -1);
    case Qt::Key_Down:
        return move(0, 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (const RankLanes::Part* part = marked_ ? lanes_.partOf(rank_, *marked_) : nullptr)
            emit eventWanted(part->device, part->stream, part->at);
        return;
    default:
        return QWidget::keyPressEvent(event);
    }
}

void RankLanesPlot::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void RankLanesPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

void RankLanesPlot::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return table(); });
}

bool RankLanesPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString words = wordsAt(help->pos());
    if (words.isEmpty()) {
        QToolTip::hideText();
        return true;
    }
    QStringList lines{words};
    const auto work = workAt(help->pos());
    if (partAt(help->pos()) || (work && work->isOnStream()))
        lines << tr("A double-click shows it on the timeline.");
    QToolTip::showText(help->globalPos(), tipOfLines(lines), this);
    return true;
}

} // namespace tilescope::ui
