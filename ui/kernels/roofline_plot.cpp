#include "ui/kernels/roofline_plot.h"

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope::ui {

namespace {

constexpr std::size_t kLabels = 6; // for the costliest; the current one is on top
constexpr double kGreatestRadius = 15;
constexpr double kLeastRadius = 2.5;
constexpr double kLeastRing = 6;       // across
constexpr double kWorthShowing = 0.01; // of the costliest's time
constexpr double kRoomForWords = 8;    // above the highest roof
constexpr double kReach = 4;           // distance in pixels at which a bubble is still hit

QString placeOf(double rate, double intensity)
{
    return QObject::tr("%1, %2 FLOP/B")
        .arg(quantityText(rate, quantity::Unit::FlopsPerSecond), threeDigits(intensity));
}

QString tipOf(const RooflineBubble& bubble)
{
    QString tip = bubble.label + QLatin1Char('\n') +
                  (bubble.isSampled ? QObject::tr("sampled, at most ") : QString()) +
                  placeOf(bubble.rate, bubble.intensity);
    if (bubble.sampledIntensity > 0)
        tip +=
            QObject::tr("\nsampled (ring), at most ") + placeOf(bubble.sampledRate, bubble.sampledIntensity);
    return tip + QObject::tr("\n%1 in all").arg(timeText(bubble.total));
}

} // namespace

RooflinePlot::RooflinePlot(QWidget* parent) : ThemedPlot(parent)
{
    setAccessibleName(tr("Roofline"));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setScaleType(QCPAxis::stLogarithmic);
        axis->setTicker(QSharedPointer<PowerTicker>::create(10));
    }
    xAxis->setLabel(tr("arithmetic intensity, FLOP/B"));
    xAxis->setRange(0.1, 100);
    yAxis->setRange(0.1, 100);
    setFocusPolicy(Qt::NoFocus); // the table offers the same rows to the keyboard
    connect(this, &ThemedPlot::rethemed, this, &RooflinePlot::build);
}

void RooflinePlot::show(std::vector<RooflineBubble> bubbles, std::vector<Roof> roofs)
{
    bubbles_ = std::move(bubbles);
    std::erase_if(bubbles_, [](const RooflineBubble& b) { return b.intensity <= 0 || b.rate <= 0; });
    std::stable_sort(bubbles_.begin(), bubbles_.end(),
                     [](const RooflineBubble& a, const RooflineBubble& b) { return a.total > b.total; });
    roofs_ = std::move(roofs);
    std::erase_if(roofs_, [](const Roof& roof) { return !roof.known(); });
    build();
}

void RooflinePlot::setCurrent(std::optional<std::int64_t> id)
{
    if (current_ == id)
        return;
    current_ = id;
    build();
}

const RooflineBubble* RooflinePlot::find(std::int64_t id) const
{
    const auto found =
        std::find_if(bubbles_.begin(), bubbles_.end(), [id](const RooflineBubble& b) { return b.id == id; });
    return found == bubbles_.end() ? nullptr : &*found;
}

double RooflinePlot::radiusOf(const RooflineBubble& bubble) const
{
    const double most = bubbles_.empty() ? 1 : std::max(1.0, bubbles_.front().total);
    return std::max(kLeastRadius, kGreatestRadius * std::sqrt(bubble.total / most));
}

void RooflinePlot::setRanges()
{
    double lowX = std::numeric_limits<double>::max();
    double highX = 0;
    double lowY = lowX;
    double highY = 0;
    // Bubbles with negligible time may be decades away and do not determine the ranges.
    const double worth = bubbles_.empty() ? 0 : kWorthShowing * bubbles_.front().total;
    for (const RooflineBubble& bubble : bubbles_) {
        if (bubble.total < worth)
            continue;
        lowX = std::min(lowX, bubble.intensity);
        highX = std::max(highX, bubble.intensity);
        lowY = std::min(lowY, bubble.rate);
        highY = std::max(highY, bubble.rate);
        if (bubble.sampledIntensity <= 0)
            continue;
        lowX = std::min(lowX, bubble.sampledIntensity);
        highX = std::max(highX, bubble.sampledIntensity);
        lowY = std::min(lowY, bubble.sampledRate);
        highY = std::max(highY, bubble.sampledRate);
    }
    if (bubbles_.empty())
        lowX = 0.1, highX = 1000, lowY = 1e10, highY = 1e13;
    for (const Roof& roof : roofs_) {
        if (roof.flops)
            highY = std::max(highY, *roof.flops);
        if (roof.flops && roof.bytes)
            highX = std::max(highX, 2 * *roof.flops / *roof.bytes);
    }
    unit_ = highY >= 1e12 ? 1e12 : 1e9;
    yAxis->setLabel(unit_ == 1e12 ? QStringLiteral("TFLOP/s") : QStringLiteral("GFLOP/s"));
    // At least a decade, with room for bubbles and the labels of the roofs.
    xAxis->setRange(lowX / 2.5, std::max(highX * 3, lowX * 10));
    yAxis->setRange(std::min(lowY / 2.5, highY / 10) / unit_, highY * kRoomForWords / unit_);
}

QPointF RooflinePlot::pixelOf(double intensity, double rate) const
{
    return {xAxis->coordToPixel(intensity), yAxis->coordToPixel(rate / unit_)};
}

void RooflinePlot::build()
{
    clearPlottables();
    clearItems();
    labels_.clear();
    roofWords_.clear();
    setRanges();
    for (std::size_t i = 0; i < roofs_.size(); ++i)
        addRoof(roofs_[i], i == 0);
    for (const RooflineBubble& bubble : bubbles_)
        addBubble(bubble);
    for (const RooflineBubble& bubble : bubbles_)
        if (bubble.sampledIntensity > 0)
            addSampled(bubble);
    if (current_)
        if (const RooflineBubble* bubble = find(*current_)) {
            QCPGraph* ring = addGraph();
            ring->setName(tr("selected"));
            ring->addData(bubble->intensity, bubble->rate / unit_);
            ring->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(colours().text, 1.6),
                                                  Qt::NoBrush, 2 * radiusOf(*bubble) + 4));
        }
    setAccessibleDescription(words());
    placeLabels();
    replot(QCustomPlot::rpQueuedReplot);
}

// For screen readers: the selected bubble, otherwise a summary.
QString RooflinePlot::words() const
{
    constexpr std::size_t kMost = 12;
    if (const RooflineBubble* current = current_ ? find(*current_) : nullptr)
        return tipOf(*current);
    QStringList words{counted(std::ssize(bubbles_), "bubble") + QStringLiteral(", ") +
                      counted(std::ssize(roofs_), "roof")};
    for (std::size_t i = 0; i < std::min(kMost, bubbles_.size()); ++i)
        words << bubbles_[i].label + QLatin1Char(' ') +
                     quantityText(bubbles_[i].rate, quantity::Unit::FlopsPerSecond) + QStringLiteral(", ") +
                     timeText(bubbles_[i].total);
    return words.join(QStringLiteral("; "));
}

void RooflinePlot::addRoof(const Roof& roof, bool strong)
{
    const QCPRange x = xAxis->range();
    const double most = roof.flops.value_or(std::numeric_limits<double>::infinity());
    const auto at = [&](double intensity) {
        return std::min(most, roof.bytes ? *roof.bytes * intensity : most) / unit_;
    };
    QCPGraph* line = addGraph();
    line->setName(tr("roof, %1").arg(roof.source));
    line->setPen(strong ? QPen(colours().text, 1.3) : QPen(colours().dimText, 1, Qt::DashLine));
    line->addData(x.lower, at(x.lower));
    if (roof.flops && roof.bytes)
        line->addData(*roof.flops / *roof.bytes, *roof.flops / unit_);
    line->addData(x.upper, at(x.upper));
    if (!roof.flops)
        return;
    // In the corner above all roofs, one line per roof, the highest first.
    const auto above = std::count_if(roofs_.begin(), roofs_.end(), [&roof](const Roof& other) {
        return other.flops && *other.flops > *roof.flops;
    });
    auto* words = new QCPItemText(this);
    words->position->setType(QCPItemPosition::ptAxisRectRatio);
    words->position->setCoords(1, 0);
    words->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
    const QString arithmetic =
        roof.source + QLatin1Char(' ') + quantityText(*roof.flops, quantity::Unit::FlopsPerSecond);
    const QString both = roof.bytes ? arithmetic + QStringLiteral(", ") +
                                          quantityText(*roof.bytes, quantity::Unit::BytesPerSecond)
                                    : arithmetic;
    const QString style = roofs_.size() < 2 ? QString() : strong ? tr(" (line)") : tr(" (dashed)");
    roofWords_.push_back({words, {both + style, both, arithmetic, roof.source}});
    words->setFont(Theme::instance().small());
    words->setColor(strong ? colours().text : colours().dimText);
    const int height = QFontMetrics(Theme::instance().small()).height();
    words->setPadding(QMargins(0, 1 + int(above) * height, 4, 0));
}

void RooflinePlot::addBubble(const RooflineBubble& bubble)
{
    const QColor colour = colourOf(bubble.swatch, colours());
    QColor fill = colour;
    fill.setAlphaF(0.8F);
    QCPGraph* graph = addGraph();
    graph->setName(bubble.label);
    graph->addData(bubble.intensity, bubble.rate / unit_);
    graph->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(colours().surface, 0.8), fill, 2 * radiusOf(bubble)));
}

void RooflinePlot::addSampled(const RooflineBubble& bubble)
{
    const QColor colour = colourOf(bubble.swatch, colours());
    QCPGraph* line = addGraph();
    line->setName(tr("%1, sampled").arg(bubble.label));
    line->setPen(QPen(colour, 1));
    // The data of a graph is in the order of its keys.
    line->addData(bubble.intensity, bubble.rate / unit_);
    line->addData(bubble.sampledIntensity, bubble.sampledRate / unit_);
    QCPGraph* ring = addGraph();
    ring->setName(line->name());
    ring->addData(bubble.sampledIntensity, bubble.sampledRate / unit_);
    ring->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(colour, 1.6), colours().surface,
                                          std::max(kLeastRing, radiusOf(bubble))));
}

void RooflinePlot::addLabel(const QPointF& place, const QString& text, Qt::Alignment alignment)
{
    auto* label = new QCPItemText(this);
    label->position->setCoords(xAxis->pixelToCoord(place.x()), yAxis->pixelToCoord(place.y()));
    label->setPositionAlignment(alignment);
    label->setText(text);
    label->setFont(Theme::instance().small());
    label->setColor(colours().text);
    QColor ground = colours().surface; // keeps names readable on top of a roof
    ground.setAlphaF(0.85F);
    label->setBrush(ground);
    labels_.push_back(label);
}

// The longest text that fits beside each roof.
void RooflinePlot::fitRoofWords()
{
    const QFontMetrics metrics(Theme::instance().small());
    const int room = axisRect()->width() - 2 * sizes().of(4);
    for (const RoofWords& words : roofWords_) {
        const auto fitting = std::ranges::find_if(
            words.texts, [&](const QString& text) { return metrics.horizontalAdvance(text) <= room; });
        words.item->setText(fitting == words.texts.end() ? QString() : *fitting);
    }
}

// Names beside the costliest bubbles, on a free side; none if no side is free.
void RooflinePlot::placeLabels()
{
    fitRoofWords();
    for (QCPItemText* label : labels_)
        removeItem(label);
    labels_.clear();
    std::vector<const RooflineBubble*> named;
    if (current_ && find(*current_) != nullptr)
        named.push_back(find(*current_));
    for (std::size_t i = 0; i < std::min(kLabels, bubbles_.size()); ++i)
        if (named.empty() || named.front() != &bubbles_[i])
            named.push_back(&bubbles_[i]);
    std::vector<QRectF> taken;
    for (int i = 0; i < itemCount(); ++i) // the roofs' words
        if (const auto* words = qobject_cast<QCPItemText*>(item(i)))
            taken.emplace_back(words->topLeft->pixelPosition(), words->bottomRight->pixelPosition());
    for (const RooflineBubble& bubble : bubbles_) {
        const double radius = radiusOf(bubble);
        const QPointF centre = pixelOf(bubble.intensity, bubble.rate);
        taken.emplace_back(centre - QPointF(radius, radius), QSizeF(2 * radius, 2 * radius));
    }
    const QFontMetricsF metrics(Theme::instance().small());
    const QRectF inside(axisRect()->rect());
    for (const RooflineBubble* bubble : named) {
        const QPointF centre = pixelOf(bubble->intensity, bubble->rate);
        const double away = radiusOf(*bubble) + 4;
        const QSizeF size(metrics.horizontalAdvance(bubble->label), metrics.height());
        const struct {
            QPointF at;
            QPointF corner;
            Qt::Alignment alignment;
        } sides[] = {
            {centre + QPointF(away, 0), {away, -size.height() / 2}, Qt::AlignLeft | Qt::AlignVCenter},
            {centre - QPointF(away, 0),
             {-away - size.width(), -size.height() / 2},
             Qt::AlignRight | Qt::AlignVCenter},
            {centre + QPointF(0, away), {-size.width() / 2, away}, Qt::AlignHCenter | Qt::AlignTop},
            {centre - QPointF(0, away),
             {-size.width() / 2, -away - size.height()},
             Qt::AlignHCenter | Qt::AlignBottom}};
        for (const auto& side : sides) {
            const QRectF box(centre + side.corner, size);
            if (!inside.contains(box) || std::any_of(taken.begin(), taken.end(), [&box](const QRectF& other) {
                    return other.intersects(box);
                }))
                continue;
            taken.push_back(box);
            addLabel(side.at, bubble->label, side.alignment);
            break;
        }
    }
}

std::optional<std::int64_t> RooflinePlot::bubbleAt(const QPointF& place) const
{
    // The smallest that is hit: small bubbles are on top.
    for (auto bubble = bubbles_.rbegin(); bubble != bubbles_.rend(); ++bubble) {
        const QPointF away = pixelOf(bubble->intensity, bubble->rate) - place;
        if (std::hypot(away.x(), away.y()) <= radiusOf(*bubble) + kReach)
            return bubble->id;
    }
    return {};
}

void RooflinePlot::mouseReleaseEvent(QMouseEvent* event)
{
    ThemedPlot::mouseReleaseEvent(event);
    if (const auto id = bubbleAt(event->position()); id && event->button() == Qt::LeftButton)
        emit chosen(*id);
}

void RooflinePlot::resizeEvent(QResizeEvent* event)
{
    ThemedPlot::resizeEvent(event);
    // The axes have their new place once it is laid out.
    QMetaObject::invokeMethod(
        this,
        [this] {
            placeLabels();
            replot(QCustomPlot::rpQueuedReplot);
        },
        Qt::QueuedConnection);
}

bool RooflinePlot::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto id = bubbleAt(help->pos());
        if (id)
            QToolTip::showText(help->globalPos(), tipOf(*find(*id)), this);
        else
            QToolTip::hideText();
        return true;
    }
    return ThemedPlot::event(event);
}

} // namespace tilescope::ui
