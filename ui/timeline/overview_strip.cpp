#include "ui/timeline/overview_strip.h"

#include "ui/theme/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

// The rows of the device; of a run without any, those of the host.
std::vector<const Track*> overviewTracks(const query::Timeline& timeline)
{
    std::vector<const Track*> tracks;
    for (const Lane::Kind kind : {Lane::Kind::Stream, Lane::Kind::Thread, Lane::Kind::Ranges}) {
        for (const Lane& lane : timeline.lanes)
            if (lane.kind == kind)
                for (const Track& row : lane.rows)
                    tracks.push_back(&row);
        if (!tracks.empty())
            break;
    }
    return tracks;
}

// If there is no space for a letter beside each row, the first and the last letter.
void paintLetters(QPainter& painter, const TimelineScene& scene, const QRect& rows, int rowHeight)
{
    const int right = scene.sizes.label - sizes().of(8);
    if (rowHeight < painter.fontMetrics().ascent()) {
        painter.drawText(QRect(0, rows.top(), right, rows.height()), Qt::AlignVCenter | Qt::AlignRight,
                         scene.sections.front().letter + QChar(0x2013) + scene.sections.back().letter);
        return;
    }
    for (std::size_t s = 0; s < scene.sections.size(); ++s)
        painter.drawText(QRect(0, rows.top() + int(s) * rowHeight, right, rowHeight),
                         Qt::AlignVCenter | Qt::AlignRight, scene.sections[s].letter);
}

// The part outside the window is dimmed.
void paintWindow(QPainter& painter, const QRect& rows, double from, double to)
{
    const Palette& p = colours();
    QColor veil = p.surface;
    veil.setAlphaF(0.55);
    const double top = rows.top();
    const double height = rows.height();
    painter.fillRect(QRectF(rows.left(), top, from - rows.left(), height), veil);
    painter.fillRect(QRectF(to, top, rows.left() + rows.width() - to, height), veil);
    painter.setPen(QPen(p.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(from, top - 1, std::max(2.0, to - from), height + 1));
    const double grip = height / 3;
    painter.fillRect(QRectF(from - 1, top + grip, 3, grip), p.accent);
    painter.fillRect(QRectF(to - 2, top + grip, 3, grip), p.accent);
}

} // namespace

// In every pixel column the box that covers most of it, whatever its row.
void OverviewStrip::fill(BoxTarget& target, const TimelineScene& scene, const BoxColours& boxColours,
                         const Place& place, double ratio)
{
    const int columns = int(place.area.width() * ratio);
    target.fill(0, columns, 0, int(place.area.height() * ratio), colours().laneGround.rgb());
    for (std::size_t s = 0; s < scene.sections.size(); ++s) {
        const TimelineSection& section = scene.sections[s];
        const int top = int(int(s) * place.rowHeight * ratio);
        std::vector<query::Column> best(static_cast<std::size_t>(columns));
        for (const Track* track : overviewTracks(*section.timeline)) {
            columns_.resize(std::size_t(columns));
            track->columns(section.toTimeline(place.whole.from),
                           place.whole.length() / section.stretch / columns, columns_);
            for (std::size_t c = 0; c < best.size(); ++c)
                if (columns_[c].item != query::Column::kNothing && columns_[c].coverage >= best[c].coverage)
                    best[c] = columns_[c];
        }
        for (int c = 0; c < columns; ++c)
            if (const query::Column& column = best[std::size_t(c)]; column.item != query::Column::kNothing)
                target.fill(c, c + 1, top, top + int((place.rowHeight - 1) * ratio),
                            boxColours.of(Lane::Kind::Stream, column.hue, 0,
                                          std::uint8_t(std::lround(column.coverage * BoxRun::kLevels))));
    }
}

void OverviewStrip::paintGround(QPainter& painter, const TimelineScene& scene, const BoxColours& boxColours,
                                const Place& place, const QRect& area, bool vector)
{
    painter.fillRect(area, colours().surface);
    if (vector) {
        painter.save();
        painter.translate(place.area.topLeft());
        PainterTarget target(painter);
        fill(target, scene, boxColours, place, 1);
        painter.restore();
    } else {
        const double ratio = painter.device()->devicePixelRatioF();
        QImage boxes(int(place.area.width() * ratio), int(place.area.height() * ratio), QImage::Format_RGB32);
        ImageTarget target(boxes);
        fill(target, scene, boxColours, place, ratio);
        boxes.setDevicePixelRatio(ratio);
        painter.drawImage(place.area.topLeft(), boxes);
    }
    paintWords(painter, scene, place, area);
}

void OverviewStrip::paintWords(QPainter& painter, const TimelineScene& scene, const Place& place,
                               const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const QFontMetrics metrics(theme.small());
    const QRect& rows = place.area;
    painter.setFont(theme.bold());
    painter.setPen(p.text);
    painter.drawText(
        QRect(sizes().of(10), area.top() + sizes().of(4), scene.sizes.label, metrics.height() + 4),
        Qt::AlignLeft, QStringLiteral("Whole run"));
    painter.setFont(theme.small());
    painter.setPen(p.dimText);
    paintLetters(painter, scene, rows, place.rowHeight);
    const auto drawCentred = [&](double x, int top, const QString& text) {
        painter.drawText(QRectF(x - 100, top, 200, metrics.height()), Qt::AlignCenter, text);
    };
    paintSteps(painter, scene.sections.front(), place, area, drawCentred);
    for (const Tick& tick : timeTicks({0, place.whole.length()}, rows.width(), sizes().of(110))) {
        // At the right edge a label moves inwards, so that its unit is whole.
        const double half = metrics.horizontalAdvance(tick.label) / 2.0;
        drawCentred(std::min(place.xOf(tick.at + place.whole.from), area.right() - half),
                    area.bottom() - metrics.height(), tick.label);
    }
}

// The names of the steps, if they are few. Of several processes those of the first: all of them would lie on each
// other.
void OverviewStrip::paintSteps(QPainter& painter, const TimelineSection& first, const Place& place,
                               const QRect& area,
                               const std::function<void(double x, int top, const QString& text)>& drawCentred)
{
    constexpr std::size_t kMostNamedSteps = 11;
    const std::vector<query::TimelineStep> steps = first.timeline->firstSteps();
    if (steps.size() > kMostNamedSteps)
        return;
    const double right = place.area.left() + place.area.width();
    double drawnTo = place.area.left();
    for (const query::TimelineStep& step : steps) {
        // At the right edge, a label moves inwards; a label that would cover the previous one is left out.
        const QString title = QString::fromStdString(first.timeline->titleOf(step));
        const double half = painter.fontMetrics().horizontalAdvance(title) / 2.0;
        const double x = std::min(place.xOf(first.toAxis(double(step.start + step.end) / 2)), right - half);
        if (x - half < drawnTo)
            continue;
        drawCentred(x, area.top(), title);
        drawnTo = x + half + sizes().of(6);
    }
}

void OverviewStrip::paint(QPainter& painter, const TimelineScene& scene, const BoxColours& boxColours,
                          const QRect& area, bool vector)
{
    if (scene.sections.empty()) {
        painter.fillRect(area, colours().surface);
        return;
    }
    const int textHeight = QFontMetrics(Theme::instance().small()).height();
    const int left = scene.sizes.label;
    const int rowsTop = area.top() + textHeight;
    const QRect rows(left, rowsTop, std::max(1, area.width() - left - sizes().of(8)),
                     area.bottom() - textHeight - rowsTop);
    const Place place{wholeWindow(scene.sections), rows,
                      std::max(3, (rows.height() - 2) / int(scene.sections.size()))};
    if (vector) {
        paintGround(painter, scene, boxColours, place, area, true);
    } else {
        const double ratio = painter.device()->devicePixelRatioF();
        const Shown shown = shownOf(scene, place, area, ratio);
        if (!(shown_ == shown) || image_.isNull()) {
            shown_ = shown;
            image_ = QImage(area.size() * ratio, QImage::Format_RGB32);
            image_.setDevicePixelRatio(ratio);
            QPainter ground(&image_);
            ground.translate(-area.topLeft());
            paintGround(ground, scene, boxColours, place, area, false);
        }
        painter.drawImage(area.topLeft(), image_);
    }
    const double right = rows.left() + rows.width();
    paintWindow(painter, rows, std::clamp(place.xOf(scene.window.from), double(left), right),
                std::clamp(place.xOf(scene.window.to), double(left), right));
}

OverviewStrip::Shown OverviewStrip::shownOf(const TimelineScene& scene, const Place& place, const QRect& area,
                                            double ratio)
{
    Shown shown{{}, place.whole, area, scene.sizes.label, ratio};
    for (const TimelineSection& section : scene.sections)
        shown.sections.push_back({section.timeline.get(), section.toAxis(0), section.letter});
    return shown;
}

} // namespace tilescope::ui
