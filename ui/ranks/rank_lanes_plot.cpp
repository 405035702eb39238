#include "ui/ranks/rank_lanes_plot.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/elided_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/theme/theme.h"
#include "ui/timeline/box_runs.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kAxisHeight = 22; // logical pixels, likewise below
constexpr int kWorkHeight = 18;
constexpr int kPartHeight = 15;
constexpr int kRankGap = 8;
constexpr int kLegendHeight = 24;
constexpr std::size_t kMostBands = 400;
constexpr double kShortestWindow = 100; ///< ns that can be shown
constexpr double kZoomStep = 0.8;

bool isIdleHue(query::Hue hue)
{
    return hue.isWait() || (hue >= query::Hue::GapLaunching && hue <= query::Hue::GapUnexplained);
}

} // namespace

struct RankLanesPlot::Frame {
    double left = 0, right = 0;
    TimeWindow window;
    std::size_t ranks = 0;

    double x(double time) const { return left + (right - left) * (time - window.from) / window.length(); }
    double timeAt(double x) const { return window.from + (x - left) / (right - left) * window.length(); }
    static double rankHeight()
    {
        return sizes().of(kWorkHeight) + sizes().of(kPartHeight) + sizes().of(kRankGap);
    }
    QRectF work(std::size_t rank) const
    {
        return {left, sizes().of(kAxisHeight) + double(rank) * rankHeight(), right - left,
                double(sizes().of(kWorkHeight))};
    }
    QRectF parts(std::size_t rank) const
    {
        return {left, work(rank).bottom() + 1, right - left, double(sizes().of(kPartHeight))};
    }
    double bottom() const { return sizes().of(kAxisHeight) + double(ranks) * rankHeight(); }
    QRectF part(std::size_t rank, const RankLanes::Part& part) const
    {
        const QRectF row = parts(rank);
        const double far = 20 * (right - left); // what is far outside need not be exact
        const double from = std::clamp(x(part.start), -far, far);
        return {from, row.top(), std::clamp(x(part.end), -far, far) - from, row.height()};
    }
};

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

RankLanesPlot::Frame RankLanesPlot::frameOf(const QSize& size) const
{
    Frame frame;
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
    return bandsOf(frameOf(size()), collective);
}

std::vector<QPolygonF> RankLanesPlot::bandsOf(const Frame& frame, std::size_t collective) const
{
    std::vector<QPolygonF> bands;
    std::optional<QRectF> above;
    for (std::size_t rank = 0; rank < lanes_.ranks.size(); ++rank) {
        const RankLanes::Part* part = lanes_.partOf(rank, collective);
        if (part == nullptr)
            continue;
        const QRectF box = frame.part(rank, *part);
        if (above)
            bands.push_back(
                QPolygonF({above->bottomLeft(), above->bottomRight(), box.topRight(), box.topLeft()}));
        above = box;
    }
    return bands;
}

// Of many collectives those at which ranks wait longest.
std::vector<std::size_t> RankLanesPlot::bandsToDraw() const
{
    std::vector<std::size_t> inside;
    for (std::size_t i = 0; i < lanes_.collectives.size(); ++i)
        if (lanes_.collectives[i].first <= window_.to)
            inside.push_back(i);
    if (inside.size() > kMostBands) {
        std::ranges::stable_sort(inside, std::ranges::greater{},
                                 [this](std::size_t i) { return lanes_.collectives[i].wait; });
        inside.resize(kMostBands);
    }
    return inside;
}

void RankLanesPlot::drawAxis(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (const Tick& tick : timeTicks(frame.window, frame.right - frame.left, sizes().of(90))) {
        const double x = frame.x(tick.at);
        painter.setPen(p.grid);
        painter.drawLine(QPointF(x, sizes().of(kAxisHeight) - 3), QPointF(x, frame.bottom()));
        const double width = metrics.horizontalAdvance(tick.label);
        painter.setPen(p.dimText);
        painter.drawText(
            QRectF(std::min(x - width / 2, frame.right - width), 0, width + 1, sizes().of(kAxisHeight) - 3),
            Qt::AlignCenter, tick.label);
    }
}

void RankLanesPlot::fillRows(QPainter& painter, const Frame& frame, std::size_t rank,
                             const RankLanes::Rows& rows, bool onlyIdle) const
{
    const QRectF row = frame.work(rank);
    const double ratio = painter.device()->devicePixelRatioF();
    const int columns = int(std::ceil(row.width() * ratio));
    const double perColumn = frame.window.length() / double(columns);
    const double from = double((lanes_.begin - lanes_.timeline->origin).count()) + frame.window.from;
    const BoxColours boxColours(colours());
    const query::Lane& lane = lanes_.timeline->lanes[rows.lane];
    std::vector<query::Column> scratch;
    RowBoxes boxes;
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (const std::size_t each : rows.rows) {
        const query::Track& track = lane.rows[each];
        makeBoxes(track, from, perColumn, columns, scratch, boxes);
        std::erase_if(boxes.runs, [onlyIdle](const BoxRun& run) { return onlyIdle != isIdleHue(run.hue); });
        painter.save();
        painter.translate(row.topLeft());
        painter.scale(1 / ratio, 1 / ratio);
        PainterTarget target(painter);
        fillBoxes(target, boxes, boxColours, lane.kind, each, 0, int(std::lround(row.height() * ratio)));
        painter.restore();
        for (const BoxSpan& span : boxes.spans) {
            const query::Hue hue = track.hue(span.item);
            if (onlyIdle != isIdleHue(hue))
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

void RankLanesPlot::drawWork(QPainter& painter, const Frame& frame, std::size_t rank) const
{
    if (!lanes_.timeline)
        return;
    if (const auto& idle = lanes_.ranks[rank].idle)
        fillRows(painter, frame, rank, *idle, true);
    for (const RankLanes::Rows& rows : lanes_.ranks[rank].work)
        fillRows(painter, frame, rank, rows, false);
}

void RankLanesPlot::drawBands(QPainter& painter, const Frame& frame) const
{
    const QColor colour = colours().hue(query::Hue::Collective);
    const auto draw = [&](std::size_t collective, int fill, int edge) {
        QColor ground = colour;
        ground.setAlpha(fill);
        QColor line = colour;
        line.setAlpha(edge);
        for (const QPolygonF& band : bandsOf(frame, collective)) {
            const QRectF around = band.boundingRect();
            if (around.right() < frame.left || around.left() > frame.right)
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

void RankLanesPlot::drawParts(QPainter& painter, const Frame& frame, std::size_t rank) const
{
    const Palette& p = colours();
    const QColor colour = p.hue(query::Hue::Collective);
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics(painter.font());
    for (const RankLanes::Part& part : lanes_.ranks[rank].parts) {
        if (part.end < frame.window.from || part.start > frame.window.to)
            continue;
        const QRectF box = frame.part(rank, part);
        const double ready = std::clamp(frame.x(part.ready), box.left(), box.right());
        const QRectF waits(box.left(), box.top(), ready - box.left(), box.height());
        // What is short is still seen.
        QRectF transfers(ready, box.top(), std::max(1.0, box.right() - ready), box.height());
        if (waits.width() >= 1) {
            painter.fillRect(waits, blend(colour, p.surface, 0.18));
            painter.fillRect(waits, QBrush(blend(colour, p.surface, 0.75), Qt::BDiagPattern));
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
        painter.fillRect(transfers.width() > 3 ? transfers.adjusted(0, 0, -0.5, 0) : transfers, colour);
        const QString& number = lanes_.collectives[part.collective].number;
        if (metrics.horizontalAdvance(number) + 2 <= transfers.width()) {
            painter.setPen(textOn(colour));
            painter.drawText(transfers, Qt::AlignCenter, number);
        }
        if (marked_ == part.collective) {
            painter.setPen(QPen(p.accent, hasFocus() && rank == rank_ ? 2 : 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(box.adjusted(0, 0, -1, -1));
        }
    }
}

// From the first rank's start to that of the last one, in the row of the latter.
void RankLanesPlot::drawLateness(QPainter& painter, const Frame& frame) const
{
    if (!marked_ || lanes_.collectives[*marked_].late <= 0)
        return;
    const RankLanes::Collective& collective = lanes_.collectives[*marked_];
    const auto rank = std::ranges::find(lanes_.ranks, collective.last, &RankLanes::Rank::title);
    if (rank == lanes_.ranks.end())
        return;
    const QRectF row = frame.parts(std::size_t(rank - lanes_.ranks.begin()));
    const double from = frame.x(collective.first);
    const double to = frame.x(collective.first + collective.late);
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
    const QString text = tr("%1 late").arg(timeText(collective.late));
    const double width = metrics.horizontalAdvance(text) + sizes().of(8);
    if (width + sizes().of(20) > to - from)
        return;
    const QRectF label((from + to - width) / 2, row.top(), width, row.height());
    painter.fillRect(label, p.surface);
    painter.drawText(label, Qt::AlignCenter, text);
}

void RankLanesPlot::drawTitles(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    const double width = frame.left - sizes().padding - sizes().of(8);
    const QString last =
        marked_ && lanes_.collectives[*marked_].late > 0 ? lanes_.collectives[*marked_].last : QString();
    for (std::size_t i = 0; i < lanes_.ranks.size(); ++i) {
        const QString& title = lanes_.ranks[i].title;
        painter.setFont(Theme::instance().bold());
        painter.setPen(title == last ? p.warning : p.text);
        QRectF row = frame.work(i);
        painter.drawText(QRectF(sizes().padding, row.top(), width, row.height()),
                         Qt::AlignVCenter | Qt::AlignLeft,
                         elidedText(title, QFontMetrics(painter.font()), Qt::ElideMiddle, int(width)));
        painter.setFont(Theme::instance().small());
        painter.setPen(p.dimText);
        row = frame.parts(i);
        painter.drawText(
            QRectF(sizes().padding, row.top(), width, row.height()), Qt::AlignVCenter | Qt::AlignLeft,
            elidedText(tr("collectives"), QFontMetrics(painter.font()), Qt::ElideRight, int(width)));
    }
}

void RankLanesPlot::drawLegend(QPainter& painter, const Frame& frame) const
{
    const Palette& p = colours();
    std::array<std::int64_t, query::kHueCount> times{};
    if (lanes_.timeline) {
        const std::int64_t from =
            (lanes_.begin - lanes_.timeline->origin).count() + std::int64_t(frame.window.from);
        const std::int64_t to = from + std::int64_t(frame.window.length());
        const auto count = [&](const RankLanes::Rows& rows, bool idle) {
            for (const std::size_t row : rows.rows) {
                const auto covered = lanes_.timeline->lanes[rows.lane].rows[row].coveredByHue(from, to);
                for (std::size_t hue = 0; hue < covered.size(); ++hue)
                    times[hue] += idle == isIdleHue(query::Hue(hue)) ? covered[hue] : 0;
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
    double x = frame.left;
    const double y = frame.bottom() + sizes().of(4);
    const auto key = [&](const QString& word, const auto& fill) {
        const double width = side + sizes().of(5) + metrics.horizontalAdvance(word);
        if (x + width > frame.right)
            return;
        fill(QRectF(x, y + (metrics.height() - side) / 2, side, side));
        painter.setPen(p.dimText);
        painter.drawText(QPointF(x + side + sizes().of(5), y + metrics.ascent()), word);
        x += width + sizes().of(14);
    };
    const QColor collective = p.hue(query::Hue::Collective);
    key(tr("waits for the last rank"), [&](const QRectF& box) {
        painter.fillRect(box, blend(collective, p.surface, 0.18));
        painter.fillRect(box, QBrush(blend(collective, p.surface, 0.75), Qt::BDiagPattern));
    });
    key(tr("transfers"), [&](const QRectF& box) { painter.fillRect(box, collective); });
    std::vector<std::size_t> hues;
    for (std::size_t hue = 0; hue < times.size(); ++hue)
        if (times[hue] > 0 && query::Hue(hue) != query::Hue::Collective)
            hues.push_back(hue);
    std::ranges::stable_sort(hues, std::ranges::greater{}, [&](std::size_t hue) { return times[hue]; });
    for (const std::size_t each : hues) {
        const query::Hue hue(each);
        key(QString::fromUtf8(query::hueWord(hue)), [&](const QRectF& box) {
            if (hue == query::Hue::GapUnexplained)
                painter.fillRect(box, QBrush(p.strongLine, Qt::BDiagPattern));
            else
                painter.fillRect(box, p.hue(hue));
        });
    }
}

void RankLanesPlot::draw(QPainter& painter, const QSize& size) const
{
    if (lanes_.isEmpty())
        return;
    const Frame frame = frameOf(size);
    drawTitles(painter, frame);
    drawLegend(painter, frame);
    painter.save();
    drawAxis(painter, frame);
    painter.setClipRect(QRectF(frame.left, 0, frame.right - frame.left, frame.bottom()), Qt::IntersectClip);
    for (std::size_t rank = 0; rank < frame.ranks; ++rank)
        painter.fillRect(frame.work(rank), colours().laneGround);
    drawBands(painter, frame);
    for (std::size_t rank = 0; rank < frame.ranks; ++rank) {
        drawWork(painter, frame, rank);
        drawParts(painter, frame, rank);
    }
    drawLateness(painter, frame);
    painter.restore();
}

void RankLanesPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
}

std::optional<RankLanesPlot::Place> RankLanesPlot::partAt(const QPointF& at) const
{
    const Frame frame = frameOf(size());
    constexpr double kNear = 3;
    for (std::size_t rank = 0; rank < frame.ranks; ++rank) {
        if (!frame.parts(rank).contains(at))
            continue;
        std::optional<Place> nearest;
        double least = kNear;
        for (const RankLanes::Part& part : lanes_.ranks[rank].parts) {
            const QRectF box = frame.part(rank, part);
            const double away = std::max({0.0, box.left() - at.x(), at.x() - box.right()});
            if (away < least) {
                least = away;
                nearest = Place{rank, &part};
            }
        }
        return nearest;
    }
    return {};
}

std::optional<RankLanesPlot::Work> RankLanesPlot::workAt(const QPointF& at) const
{
    if (!lanes_.timeline)
        return {};
    const Frame frame = frameOf(size());
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
                             : tr("%1 ranks, %2 collectives, %3")
                                   .arg(QString::number(lanes_.ranks.size()),
                                        QString::number(lanes_.collectives.size()), timeText(lanes_.length)));
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
            const Frame frame = frameOf(size());
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
    if (const auto place = partAt(event->position()))
        emit eventWanted(place->part->device, place->part->stream, place->part->at);
    else if (const auto work = workAt(event->position());
             work && work->lane->kind == query::Lane::Kind::Stream)
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
    if (now.first < window_.from || now.first + now.late > window_.to) {
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
    addKey(*this, tr("Show the whole step"), {Qt::Key_F}, [this] { fit(); });
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
    if (words.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(help->globalPos(),
                           tipOfLines({words, tr("A double click shows it on the timeline.")}), this);
    return true;
}

} // namespace tilescope::ui
