#include "ui/memory/memory_plot.h"

#include "ui/kit/label_places.h"
#include "ui/kit/number_text.h"
#include "ui/memory/step_points.h"
#include "ui/theme/theme.h"

#include <QKeyEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr double kMillisecond = 1e6;
constexpr double kShortest = 1000; // nanoseconds that a window shows at least

void setGraph(QCPGraph& graph, const std::vector<StepPoint>& points, double zero, double unit)
{
    QVector<QCPGraphData> data;
    data.reserve(qsizetype(points.size()));
    for (const StepPoint& point : points)
        data.append({(point.time - zero) / kMillisecond, point.value / unit});
    graph.data()->set(data, true);
}

// The points of the step line: a value holds until the next one.
QPolygonF drawnLineOf(const QCPGraph& graph)
{
    QPolygonF line;
    for (const QCPGraphData& point : *graph.data()) {
        const QPointF pixel = graph.coordsToPixels(point.key, point.value);
        if (!line.isEmpty())
            line << QPointF(pixel.x(), line.back().y());
        line << pixel;
    }
    return line;
}

} // namespace

std::optional<MemorySeries> MemorySeries::of(std::shared_ptr<const query::Timeline> timeline,
                                             DeviceIndex device)
{
    MemorySeries series;
    for (const query::Lane& lane : timeline->lanes)
        if (lane.kind == query::Lane::Kind::Memory && lane.device == device && !lane.allocated.empty())
            series.lane = &lane;
    if (series.lane == nullptr)
        return {};
    if (!timeline->steps.empty())
        series.zero = timeline->stepsOf(series.lane->process).front().start;
    series.timeline = std::move(timeline);
    return series;
}

MemoryPlot::MemoryPlot(QWidget* parent) : ThemedPlot(parent), cursor_(addLine(0))
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Memory over time"));
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    axisRect()->setRangeDrag(Qt::Horizontal);
    axisRect()->setRangeZoom(Qt::Horizontal);
    axisRect()->setRangeZoomFactor(0.8);
    xAxis->setLabel(tr("time from the first traced step, ms"));
    xAxis->ticker()->setTickCount(8);
    xAxis->grid()->setVisible(false);
    cursor_->setLayer(QStringLiteral("overlay"));
    cursor_->setVisible(false);
    connect(xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &MemoryPlot::keepWithinBounds);
    connect(xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
        if (hoverX_) // another instant is under the cursor now
            followCursor();
    });
    connect(this, &ThemedPlot::rethemed, this, &MemoryPlot::dress);
    // The axes have their places then.
    connect(this, &QCustomPlot::afterLayout, this, &MemoryPlot::placeLabels);
    dress();
}

QCPItemStraightLine* MemoryPlot::addLine(double milliseconds)
{
    auto* line = new QCPItemStraightLine(this);
    line->point1->setCoords(milliseconds, 0);
    line->point2->setCoords(milliseconds, 1);
    return line;
}

QColor MemoryPlot::colourOf(std::size_t run, std::size_t runs)
{
    const Palette& p = colours();
    if (runs == 1)
        return p.activations;
    const QColor each[] = {p.runA, p.runB, p.gradients, p.activations, p.optimizerState, p.temporaries};
    return each[run % std::size(each)];
}

void MemoryPlot::show(std::vector<MemorySeries> series)
{
    for (const Drawn& drawn : drawn_)
        removeItem(drawn.label);
    for (const StepMark& step : steps_) {
        removeItem(step.line);
        removeItem(step.label);
    }
    drawn_.clear();
    steps_.clear();
    clearGraphs();
    series_ = std::move(series);
    QStringList words;
    for (const MemorySeries& run : series_)
        words << run.letter +
                     tr(" peak allocated %1")
                         .arg(byteText(double(run.lane->allocated.value(run.lane->allocated.peak()))));
    setAccessibleDescription(words.join(QStringLiteral(", ")).trimmed());
    double most = 1;
    bounds_ = {0, kShortest};
    for (const MemorySeries& run : series_) {
        const query::StepCurve& reserved = run.lane->reserved;
        most = std::max(most, double(run.lane->allocated.value(run.lane->allocated.peak())));
        most = std::max(most, double(reserved.value(reserved.peak())));
        bounds_.from = std::min(bounds_.from, double(run.lane->allocated.time(0) - run.zero));
        bounds_.to = std::max(bounds_.to, double(run.timeline->length - run.zero));
        Drawn drawn{addGraph(), addGraph(), addGraph(), new QCPItemText(this)};
        for (QCPGraph* graph : {drawn.allocated, drawn.reserved}) {
            graph->setLineStyle(QCPGraph::lsStepLeft);
            graph->setAdaptiveSampling(false); // stepPoints() has done so, keeping every extreme
            // Edges are vertical or horizontal: antialiasing would only blur them.
            graph->setAntialiased(false);
            graph->setAntialiasedFill(false);
        }
        drawn.reserved->setVisible(run.hasReserved());
        drawn.peak->setLineStyle(QCPGraph::lsNone);
        drawn.label->setLayer(QStringLiteral("overlay")); // above the curves
        drawn_.push_back(drawn);
    }
    for (const Drawn& drawn : drawn_)
        drawn.peak->setLayer(QStringLiteral("overlay")); // above every label
    const Unit unit = byteUnit(most);
    unit_ = unit.divisor;
    yAxis->setLabel(QString::fromStdString(unit.suffix));
    most_ = most;
    addSteps();
    dress();
    fit();
}

void MemoryPlot::addSteps()
{
    if (series_.empty())
        return;
    const MemorySeries& first = series_.front();
    for (const query::TimelineStep& step : first.timeline->stepsOf(first.lane->process)) {
        const double at = double(step.start - first.zero) / kMillisecond;
        auto* label = new QCPItemText(this);
        label->setText(tr("step %1").arg(step.step));
        label->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
        label->position->setTypeX(QCPItemPosition::ptPlotCoords);
        label->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
        label->position->setCoords(at, 0);
        label->setPadding(QMargins(4, 2, 4, 0));
        label->setLayer(QStringLiteral("overlay")); // lines of instants pass behind it
        QCPItemStraightLine* line = addLine(at);
        line->setLayer(QStringLiteral("grid"));
        steps_.push_back({line, label, at});
    }
}

void MemoryPlot::dress()
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
        const QColor colour = colourOf(i, drawn_.size());
        QColor soft = colour;
        soft.setAlphaF(drawn_.size() == 1 ? 0.35F : 0.18F);
        drawn_[i].allocated->setPen(QPen(colour, 1)); // drawing wider lines takes ten times as long
        drawn_[i].allocated->setBrush(soft);
        drawn_[i].reserved->setPen(QPen(drawn_.size() == 1 ? p.text : colour, 1));
        drawn_[i].peak->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(p.text, 1.4), QBrush(p.surface), 7));
        drawn_[i].label->setFont(theme.bold());
        drawn_[i].label->setColor(p.text);
        drawn_[i].label->setBrush(p.surface); // steps' lines end at it
    }
    for (const StepMark& step : steps_) {
        step.line->setPen(QPen(p.strongLine, 1));
        step.label->setFont(theme.small());
        step.label->setColor(p.dimText);
        QColor ground = p.surface;
        ground.setAlphaF(0.85F);
        step.label->setBrush(ground);
    }
    cursor_->setPen(QPen(p.dimText, 1));
}

void MemoryPlot::fit()
{
    const double slack = 0.01 * bounds_.length();
    setWindow({bounds_.from - slack, bounds_.to + slack});
}

TimeWindow MemoryPlot::window() const
{
    return {xAxis->range().lower * kMillisecond, xAxis->range().upper * kMillisecond};
}

void MemoryPlot::setWindow(const TimeWindow& window)
{
    const TimeWindow kept = window.within(bounds_, kShortest);
    {
        const QSignalBlocker quiet(xAxis);
        xAxis->setRange(kept.from / kMillisecond, kept.to / kMillisecond);
    }
    refill();
    replot(rpQueuedReplot);
}

void MemoryPlot::keepWithinBounds(const QCPRange& range)
{
    setWindow({range.lower * kMillisecond, range.upper * kMillisecond});
}

void MemoryPlot::refill()
{
    const TimeWindow shown = window();
    const int pixels = std::max(1, axisRect()->width());
    for (std::size_t i = 0; i < series_.size(); ++i) {
        const MemorySeries& run = series_[i];
        const auto zero = double(run.zero);
        const TimeWindow own = shown.panned(zero);
        const query::StepCurve& allocated = run.lane->allocated;
        setGraph(*drawn_[i].allocated, stepPoints(allocated, run.timeline->length, own, pixels), zero, unit_);
        setGraph(*drawn_[i].reserved, stepPoints(run.lane->reserved, run.timeline->length, own, pixels), zero,
                 unit_);
        const std::size_t peak = allocated.peak();
        setGraph(*drawn_[i].peak, {{double(allocated.time(peak)), double(allocated.value(peak))}}, zero,
                 unit_);
    }
    // Above the curves there is a band for the names of steps and of the highest peak, of at most half the plot.
    const double plotHeight = std::max(1, axisRect()->height());
    const double band = sizes().of(16) * 2.5;
    yAxis->setRange(0, most_ / unit_ * plotHeight / std::max(plotHeight - band, plotHeight / 2));
}

void MemoryPlot::placeLabels()
{
    LabelPlaces places(axisRect()->rect());
    placeStepNames(places);
    for (const Drawn& drawn : drawn_)
        for (const QCPGraph* curve : {drawn.allocated, drawn.reserved})
            if (curve->visible())
                places.avoid(drawnLineOf(*curve));
    placePeakNames(places);
}

// As many as fit.
void MemoryPlot::placeStepNames(LabelPlaces& places)
{
    const QCPRange shown = xAxis->range();
    const QRect plot = axisRect()->rect();
    const double perPixel = shown.size() / std::max(1, plot.width());
    double free = shown.lower;
    for (const StepMark& step : steps_) {
        const bool fits = step.at >= free && step.at + sizes().of(44) * perPixel <= shown.upper;
        step.label->setVisible(fits);
        if (!fits)
            continue;
        free = step.at + sizes().of(52) * perPixel;
        places.take(QRectF(xAxis->coordToPixel(step.at), plot.top(), sizes().of(44), sizes().of(16)));
    }
}

// Places each name beside its ring. A name without free space is omitted; the table also shows the peak.
void MemoryPlot::placePeakNames(LabelPlaces& places)
{
    constexpr double kRing = 5;
    constexpr double kPad = 3;
    std::vector<QPointF> rings;
    for (std::size_t i = 0; i < series_.size(); ++i) {
        const query::StepCurve& curve = series_[i].lane->allocated;
        const std::size_t peak = curve.peak();
        const QPointF ring(xAxis->coordToPixel(double(curve.time(peak) - series_[i].zero) / kMillisecond),
                           yAxis->coordToPixel(double(curve.value(peak)) / unit_));
        rings.push_back(ring);
        if (axisRect()->rect().contains(ring.toPoint()))
            places.take(QRectF(ring - QPointF(kRing, kRing), QSizeF(2 * kRing, 2 * kRing)));
    }
    for (std::size_t i = 0; i < series_.size(); ++i) {
        const query::StepCurve& curve = series_[i].lane->allocated;
        QCPItemText& label = *drawn_[i].label;
        label.setVisible(false);
        if (rings[i].x() < axisRect()->left() || rings[i].x() > axisRect()->right())
            continue;
        const QString bytes = byteText(double(curve.value(curve.peak())));
        const QString letter = series_[i].letter.isEmpty() ? QString() : series_[i].letter + QLatin1Char(' ');
        const QFontMetricsF metrics(label.font());
        std::optional<LabelPlaces::Place> place;
        for (const QString& text : {letter + tr("peak allocated %1").arg(bytes), letter + bytes}) {
            const QSizeF size(metrics.horizontalAdvance(text) + 2 * kPad, metrics.height());
            label.setText(text);
            if (place = places.place(places.around(rings[i], size, kRing)); place)
                break;
        }
        if (!place)
            continue;
        label.setPadding(QMargins(int(kPad), 0, int(kPad), 0));
        label.setVisible(true);
        label.setPositionAlignment(Qt::AlignCenter);
        label.position->setType(QCPItemPosition::ptAbsolute);
        label.position->setCoords(place->rect.center());
    }
}

void MemoryPlot::placeCursor(std::optional<double> time)
{
    cursor_->setVisible(time.has_value());
    if (time) {
        cursor_->point1->setCoords(*time / kMillisecond, 0);
        cursor_->point2->setCoords(*time / kMillisecond, 1);
    }
    layer(QStringLiteral("overlay"))->replot();
    emit cursorMoved(time ? reading(*time) : QString());
}

QString MemoryPlot::reading(double time) const
{
    QStringList words{timeText(time)};
    for (const MemorySeries& run : series_) {
        const auto own = std::int64_t(std::floor(time)) + run.zero;
        if (own < run.lane->allocated.time(0) || own > run.timeline->length)
            continue;
        QString bytes = tr("allocated %1").arg(byteText(double(run.lane->allocated.at(own))));
        if (run.hasReserved())
            bytes += tr(", reserved %1").arg(byteText(double(run.lane->reserved.at(own))));
        words << (run.letter.isEmpty() ? bytes : run.letter + QLatin1Char(' ') + bytes);
    }
    return words.join(QStringLiteral("   "));
}

void MemoryPlot::resizeEvent(QResizeEvent* event)
{
    ThemedPlot::resizeEvent(event);
    refill();
    replot(rpQueuedReplot);
}

void MemoryPlot::mouseMoveEvent(QMouseEvent* event)
{
    ThemedPlot::mouseMoveEvent(event);
    hoverX_.reset();
    if (!series_.empty() && axisRect()->rect().contains(event->pos()))
        hoverX_ = event->pos().x();
    followCursor();
}

void MemoryPlot::followCursor()
{
    placeCursor(hoverX_ ? std::optional(xAxis->pixelToCoord(*hoverX_) * kMillisecond) : std::nullopt);
}

void MemoryPlot::mouseDoubleClickEvent(QMouseEvent*)
{
    fit();
}

void MemoryPlot::leaveEvent(QEvent* event)
{
    ThemedPlot::leaveEvent(event);
    hoverX_.reset();
    placeCursor({});
}

void MemoryPlot::keyPressEvent(QKeyEvent* event)
{
    const TimeWindow shown = window();
    const double centre = (shown.from + shown.to) / 2;
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
        return setWindow(shown.zoomed(0.7, centre));
    case Qt::Key_S:
    case Qt::Key_Minus:
        return setWindow(shown.zoomed(1 / 0.7, centre));
    case Qt::Key_A:
    case Qt::Key_Left:
        return setWindow(shown.panned(-0.15 * shown.length()));
    case Qt::Key_D:
    case Qt::Key_Right:
        return setWindow(shown.panned(0.15 * shown.length()));
    case Qt::Key_F:
        return fit();
    default:
        ThemedPlot::keyPressEvent(event);
    }
}

} // namespace tilescope::ui
